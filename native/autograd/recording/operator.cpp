#include "autograd/recording/operator.h"

#include "autograd/graph/operations.h"
#include "autograd/graph/stand_in.h"
#include "core/tensor/overlap.h"
#include "core/tensor/promotion.h"

namespace flambeau::autograd {

void fail_undefined(const char* op, const char* argument) {
  fail(ErrorKind::type, op, "(): argument '", argument, "' must be a Tensor, not None");
}

void fail_dtype(const char* op, const char* argument, DType seen, uint32_t accepted) {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (accepted >> i & 1) names += (names.empty() ? "" : ", ") + std::string(kDTypes[i].name);
  }
  fail(ErrorKind::runtime, op, "(): argument '", argument, "' has dtype ", name(seen),
       ", expected one of: ", names);
}

void fail_same_dtype(const char* op, const char* argument, DType seen, const char* other,
                     DType expected) {
  fail(ErrorKind::runtime, op, "(): argument '", argument, "' has dtype ", name(seen), " but '",
       other, "' has dtype ", name(expected), "; they must be the same: convert one with .to()");
}

void fail_device(const char* op, const char* argument, Device seen, Device expected) {
  fail(ErrorKind::runtime, op, "(): argument '", argument, "' is on ", seen,
       " but the others are on ", expected, "; move them to one device first");
}

void fail_rank(const char* op, const char* what, IntList seen, int64_t expected) {
  fail(ErrorKind::runtime, op, "(): expected ", what, " to have ", expected, " dimensions, got ",
       ShapeText{seen});
}

Device device_of(TensorList tensors, const char* op, const char* argument) {
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    if (!first) {
      first = &tensor;
    } else if (tensor.device() != first->device()) {
      fail_device(op, argument, tensor.device(), first->device());
    }
  }
  check(first != nullptr, ErrorKind::runtime, op, "(): argument '", argument, "' holds no tensor");
  return first->device();
}

DType common_dtype_of(TensorList tensors, const char* op) {
  check(!tensors.empty(), ErrorKind::runtime, op,
        "(): expected at least one tensor, got an empty list");
  std::vector<Operand> operands(tensors.begin(), tensors.end());
  return result_dtype(operands);
}

DType common_dtype(std::initializer_list<Operand> operands, bool integers_to_float) {
  const DType common = result_dtype(std::span<const Operand>(operands.begin(), operands.size()));
  return integers_to_float && !is_differentiable(common) ? default_dtype() : common;
}

void check_list_lengths(const char* op, size_t expected, std::initializer_list<size_t> lengths) {
  for (const size_t length : lengths) {
    check(length == expected, ErrorKind::runtime, op,
          "(): lists of tensors have different lengths: ", expected, " and ", length);
  }
}

void check_tensors(TensorList tensors, uint32_t accepted, const char* op, const char* argument) {
  for (const Tensor& tensor : tensors) check_tensor(tensor, accepted, op, argument);
}

void check_out(const Tensor& out, bool any_requires_grad, bool any_tangent, const char* op) {
  check(out.defined(), ErrorKind::type, op, "(): argument 'out' must be a Tensor, not None");
  check(
      !grad_enabled() || !(any_requires_grad || requires_grad(out)), ErrorKind::runtime, op,
      "(): functions with out=... do not record gradients, but one of the arguments requires grad; "
      "use the form without out=, or no_grad()");
  check(!any_tangent && !has_tangent(out), ErrorKind::runtime, op,
        "(): functions with out=... do not carry tangents, but one of the arguments has one; use "
        "the form without out=");
}

std::string printable(std::string_view value) {
  constexpr size_t kShown = 80;
  if (value.size() <= kShown) return std::string(value);
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80) --end;  // of UTF-8
  return std::string(value.substr(0, end)) + "...";
}

namespace {
/// What messages call output `i` of so many.
std::string output_name(size_t i, size_t count) {
  return count == 1 ? "out" : "out[" + std::to_string(i) + "]";
}

void check_output(const Output& output, const std::string& name, const char* op) {
  const auto& [out, result, keeps_dtype] = output;
  check(out.device() == result.device(), ErrorKind::runtime, op, "(): ", name, " is on ",
        out.device(), " but the result is on ", result.device());
  const DType dtype = result.dtype();
  check(out.dtype() == dtype || (!keeps_dtype && can_cast(dtype, out.dtype())), ErrorKind::runtime,
        op, "(): a result of dtype ", dtype, " cannot be written into ", name, " of dtype ",
        out.dtype());
  check(out.numel() == 0 || equal(out.sizes(), result.sizes()), ErrorKind::runtime, op,
        "(): ", name, " has shape ", out.sizes(), ", expected ", result.sizes(),
        " (or an empty tensor, which is resized)");
  check_writable(out, op);
}
}  // namespace

void place_out(std::initializer_list<Output> outputs, const char* op) {
  const Output* const all = outputs.begin();
  const size_t count = outputs.size();
  for (size_t i = 0; i < count; ++i) check_output(all[i], output_name(i, count), op);
  for (const Output& output : outputs) {
    if (!equal(output.out.sizes(), output.result.sizes())) {
      resize_data(output.out, output.result.sizes(), op);
    }
  }
  for (size_t i = 1; i < count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      check(!all[i].out.is_same(all[j].out) && !may_overlap(all[i].out, all[j].out),
            ErrorKind::runtime, op, "(): ", output_name(j, count), " and ", output_name(i, count),
            " share memory");
    }
  }
  for (const Output& output : outputs) copy_data(output.out, output.result);
}

void write_out(std::initializer_list<Output> outputs, const char* op) {
  place_out(outputs, op);
  for (const Output& output : outputs) output.out.bump_version();
}

void check_made_for(const Tensor& out, std::optional<DType> dtype, std::optional<Device> device,
                    const char* op) {
  check(!dtype || *dtype == out.dtype(), ErrorKind::runtime, op, "(): argument 'dtype' is ",
        dtype.value_or(out.dtype()), ", but out has dtype ", out.dtype());
  check(!device || *device == out.device(), ErrorKind::runtime, op, "(): argument 'device' is ",
        device.value_or(out.device()), ", but out is on ", out.device());
}

void check_fits(const Tensor& self, const Tensor& result, const char* op) {
  check(equal(self.sizes(), result.sizes()), ErrorKind::runtime, op, "(): the result has shape ",
        result.sizes(), " and cannot be written into self of shape ", self.sizes());
  check_writable(self, op);
  check(can_cast(result.dtype(), self.dtype()), ErrorKind::runtime, op, "(): a result of dtype ",
        name(result.dtype()), " cannot be written into self of dtype ", name(self.dtype()));
}

void write_inplace(const Tensor& self, const Tensor& result, const char* op) {
  check_fits(self, result, op);
  copy_data(self, result);
  self.bump_version();
}

Tensor clone_data(const Tensor& tensor) {
  Tensor copy = empty(tensor.sizes(), tensor.dtype(), tensor.device());
  copy_data(copy, tensor);
  return copy;
}

namespace {
Tensor filled_with_zeros(IntList sizes, DType dtype, Device device) {
  Tensor zeros = empty(sizes, dtype, device);
  fill_data(zeros, 0);
  return zeros;
}
}  // namespace

Tensor gradient_or_zeros(const Gradients& gradients, size_t index, const Node& node) {
  if (gradients[index].defined()) return gradients[index];
  const Node::OutputInfo& output = node.outputs[index];
  return filled_with_zeros(output.sizes, output.dtype, output.device);
}

Tensor zeros_of(const Tensor& tensor) {
  if (FLAMBEAU_UNLIKELY(may_stand_in(tensor))) {
    const Tensor nowhere = empty(tensor.sizes(), DType::int64);
    fill_data(nowhere, -1);
    return operations().pick(tensor, nowhere);
  }
  return filled_with_zeros(tensor.sizes(), tensor.dtype(), tensor.device());
}

Tensor flat_gradient(const Node& node, size_t input, const Tensor& grad) {
  const Edge& edge = node.edges[input];
  const auto& outputs = edge.node->outputs;
  const bool known = edge.index < outputs.size() && outputs[edge.index].is_set &&
                     outputs[edge.index].device == grad.device() && !may_stand_in(grad);
  if (!known) return zeros_of(grad);
  const Node::OutputInfo& given = outputs[edge.index];
  return filled_with_zeros(given.sizes, given.dtype, given.device);
}

}  // namespace flambeau::autograd
