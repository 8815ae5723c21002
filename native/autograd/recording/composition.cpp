#include "autograd/recording/composition.h"
#include "core/tensor/overlap.h"

#include "autograd/graph/history.h"

namespace flambeau::autograd {

Tensor without_history(const Tensor& tensor) {
  return tensor.defined() && tensor.impl()->autograd ? detach(tensor) : tensor;
}

std::vector<Tensor> without_history(TensorList tensors) {
  std::vector<Tensor> plain;
  plain.reserve(tensors.size());
  for (const Tensor& tensor : tensors) plain.push_back(without_history(tensor));
  return plain;
}

Tensor moved(const Tensor& tensor, Device device) {
  if (!tensor.defined()) return tensor;
  const Tensor result = empty(tensor.sizes(), tensor.dtype(), device);
  copy_data(result, tensor);
  return result;
}

std::vector<Tensor> moved(TensorList tensors, Device device) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(moved(tensor, device));
  return result;
}

namespace {
/// Takes over the value's memory where nobody else holds it and it is laid out as the result.
bool take_over(const Tensor& result, const Tensor& value) {
  const bool is_alone = value.ref()->use_count() == 1 && value.storage()->use_count() == 1;
  if (!is_alone || value.dtype() != result.dtype() || value.device() != result.device() ||
      !equal(value.sizes(), result.sizes()) || !equal(value.strides(), result.strides()))
    return false;
  result.impl()->storage = value.storage();
  result.impl()->offset = value.offset();
  return true;
}

DType computed_in(DType dtype) {
  if (dtype == DType::float16 || dtype == DType::bfloat16) return DType::float32;
  return dtype == DType::bool_ ? DType::uint8 : dtype;
}
}  // namespace

Tensor read_operand(const Iterator& iter, int i) { return without_history(iter.tensor(i)); }

Tensor read_number(const Iterator& iter, int i) {
  const Tensor tensor = read_operand(iter, i);
  return cast_data(tensor, computed_in(tensor.dtype()));
}

void write_output(const Iterator& iter, int i, Tensor&& value) {
  const Tensor result = iter.tensor(i);
  if (!iter.is_fresh(i) || !take_over(result, value)) copy_data(result, value);
}

Tensor room_for_draws(const Iterator& iter) {
  const Tensor output = iter.tensor(0);
  const DType dtype = computed_in(iter.common_dtype());
  if (!is_non_overlapping_dense(output.sizes(), output.strides()))
    return empty(output.sizes(), dtype, output.device());
  return empty_strided(output.sizes(), output.strides(), dtype, output.device());
}

void check_composed_dtype(const Iterator& iter, const char* op) {
  if (!is_complex(iter.common_dtype())) return;
  fail(ErrorKind::not_implemented, op, ": no kernel for ", iter.common_dtype(), " on device ",
       iter.device(), ", and what it is composed of is of real numbers; a backend ",
       "adds one with register_kernel(\"", op, "\", backend, kernel)");
}

void hand_over(const Tensor& result, Tensor&& value, const char* op) {
  check(equal(result.sizes(), value.sizes()), ErrorKind::runtime, op,
        ": its composition gives shape ", value.sizes(), " where the shape rule says ",
        result.sizes());
  if (!take_over(result, value)) copy_data(result, value);
}

}  // namespace flambeau::autograd
