#include "autograd/saved.h"

#include "autograd/state.h"

namespace flambeau::autograd {

SavedTensor::SavedTensor(const Tensor& tensor, const char* name, bool is_result,
                         uint32_t output_index)
    : name_(name), output_index_(output_index), is_result_(is_result) {
  if (!tensor.defined()) return;
  version_ = tensor.version();
  check(!tensor.impl()->inference, ErrorKind::runtime, "tensor '", name,
        "' was made in inference mode and cannot be saved for backward; clone it outside of "
        "inference mode first");
  State* own = state_if_any(tensor);
  if (is_result) {
    tensor_ = shallow_copy(tensor);
    if (own && own->grad_fn) output_index_ = own->output_index;
  } else if (own && history(*own, tensor)) {
    tensor_ = shallow_copy(tensor);
    grad_fn_ = own->grad_fn;
    output_index_ = own->output_index;
  } else {
    tensor_ = tensor;
    return;
  }
  if (FLAMBEAU_UNLIKELY(has_tangent(tensor))) set_tangent(tensor_, tangent(tensor));
}

Tensor SavedTensor::unpack(const Node& node, bool with_history) const {
  if (FLAMBEAU_UNLIKELY(!tensor_.defined())) {
    if (freed_) fail_freed(node);
    return Tensor();
  }
  if (FLAMBEAU_UNLIKELY(tensor_.version() != version_)) fail_version(node);
  if (!with_history || !(is_result_ || grad_fn_) || !is_differentiable(tensor_.dtype())) {
    return tensor_;
  }
  Tensor result = shallow_copy(tensor_);
  State& own = state(result);
  own.grad_fn = is_result_ ? Ref<Node>(const_cast<Node*>(&node)) : grad_fn_;
  own.output_index = output_index_;
  if (FLAMBEAU_UNLIKELY(has_tangent(tensor_))) set_tangent(result, tangent(tensor_));
  return result;
}

void SavedTensor::reset() {
  if (!tensor_.defined()) return;
  tensor_ = Tensor();
  grad_fn_ = nullptr;
  freed_ = true;
}

void SavedTensor::fail_version(const Node& node) const {
  fail(ErrorKind::runtime, node.name(), ": the gradient needs '", name_, "' (", tensor_.dtype(),
       " ", tensor_.sizes(), is_result_ ? ", the operator's result" : "",
       "), but it was modified in place after it was saved: it is at version ", tensor_.version(),
       ", expected version ", version_,
       ". Use the out-of-place form of the later operator, or clone the tensor first");
}

void SavedTensor::fail_freed(const Node& node) const {
  fail(ErrorKind::runtime, node.name(), ": the saved tensor '", name_,
       "' was freed by an earlier backward; to run backward through the graph a second time, pass "
       "retain_graph=True to the first one");
}

}  // namespace flambeau::autograd
