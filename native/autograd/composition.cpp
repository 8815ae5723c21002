#include "autograd/composition.h"

#include "autograd/node.h"

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

void hand_over(const Tensor& result, Tensor&& value, const char* op) {
  check(equal(result.sizes(), value.sizes()), ErrorKind::runtime, op,
        ": its composition gives shape ", value.sizes(), " where the shape rule says ",
        result.sizes());
  const bool is_alone = value.ref()->use_count() == 1 && value.storage()->use_count() == 1;
  const bool fits =
      value.is_contiguous() && value.dtype() == result.dtype() && value.device() == result.device();
  if (!is_alone || !fits) return copy_data(result, value);
  result.impl()->storage = value.storage();
  result.impl()->offset = value.offset();
}

}  // namespace flambeau::autograd
