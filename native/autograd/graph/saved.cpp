#include "autograd/graph/saved.h"

#include <utility>

#include "autograd/graph/forward_mode.h"
#include "autograd/graph/history.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/state.h"

namespace flambeau::autograd {

namespace {

FLAMBEAU_FAST_TLS thread_local constinit bool hooks_active = false;
struct HookStack {
  std::vector<std::shared_ptr<const SavedTensorHooks>> hooks;
  std::string disabled;
};
HookStack& hook_stack() {
  thread_local HookStack stack;
  return stack;
}

}  // namespace

void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks) {
  HookStack& stack = hook_stack();
  check(stack.disabled.empty(), ErrorKind::runtime, stack.disabled);
  stack.hooks.push_back(std::move(hooks));
  hooks_active = true;
}

void pop_saved_tensor_hooks() {
  HookStack& stack = hook_stack();
  check(!stack.hooks.empty(), ErrorKind::runtime, "saved_tensors_hooks: there are none to remove");
  stack.hooks.pop_back();
  hooks_active = !stack.hooks.empty();
}

std::string disable_saved_tensor_hooks(std::string message) {
  HookStack& stack = hook_stack();
  check(message.empty() || stack.hooks.empty(), ErrorKind::runtime, message);
  return std::exchange(stack.disabled, std::move(message));
}

struct SavedTensor::Packed {
  std::shared_ptr<const SavedTensorHooks> hooks;
  std::shared_ptr<void> value;
  Shape sizes;
  DType dtype;
};

SavedTensor::SavedTensor(SavedTensor&&) noexcept = default;
SavedTensor& SavedTensor::operator=(SavedTensor&&) noexcept = default;
SavedTensor::~SavedTensor() = default;

void SavedTensor::pack(const Tensor& tensor) {
  const auto hooks = hook_stack().hooks.back();
  auto packed = std::make_shared<Packed>();
  packed->hooks = hooks;
  packed->sizes = tensor.sizes();
  packed->dtype = tensor.dtype();
  const GradMode no_grad(false);
  // What the hook computes must not be packed in turn.
  struct Pause {
    Pause() { hooks_active = false; }
    ~Pause() { hooks_active = true; }
  } const pause;
  packed->value = hooks->pack(shallow_copy(tensor));
  packed_ = std::move(packed);
  tensor_ = Tensor();
}

Tensor SavedTensor::unpack_with_hooks(const Node& node) const {
  Tensor found;
  {
    const GradMode no_grad(false);
    found = packed_->hooks->unpack(packed_->value);
  }
  check(found.defined() && equal(found.sizes(), packed_->sizes) && found.dtype() == packed_->dtype,
        ErrorKind::runtime, node.name(), ": the unpack hook of saved tensor '", name_,
        "' must return a ", packed_->dtype, " tensor of shape ", packed_->sizes);
  return with_edge(found, node);
}

/// A handle of its own, with the history of what was saved.
Tensor SavedTensor::with_edge(const Tensor& tensor, const Node& node) const {
  Tensor result = shallow_copy(tensor);
  if (!is_differentiable(tensor.dtype())) return result;
  if (is_result_) {
    set_result_edge(result, node, output_index_);
  } else if (grad_fn_) {
    state(result).grad_fn = grad_fn_;
    state(result).output_index = output_index_;
  }
  return result;
}

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
  } else if (own) {
    // Of a leaf, too, the edge alone is kept: its accumulator.
    Edge edge = gradient_edge(tensor);
    grad_fn_ = std::move(edge.node);
    output_index_ = edge.index;
    tensor_ = grad_fn_ || own->base.defined() ? shallow_copy(tensor) : tensor;
  } else {
    tensor_ = tensor;
  }
  if (FLAMBEAU_UNLIKELY(hooks_active)) {
    pack(tensor);
  } else if (FLAMBEAU_UNLIKELY(has_tangent(tensor))) {
    set_tangent(tensor_, tangent(tensor));
  }
}

Tensor SavedTensor::unpack(const Node& node, bool with_history) const {
  if (FLAMBEAU_UNLIKELY(!tensor_.defined())) {
    if (freed_) fail_freed(node);
    return packed_ ? unpack_with_hooks(node) : Tensor();
  }
  if (FLAMBEAU_UNLIKELY(tensor_.version() != version_)) fail_version(node);
  if (FLAMBEAU_UNLIKELY(is_result_ && forward_level.load(std::memory_order_relaxed) != 0)) {
    adopt_tangent(node);
  }
  if (!with_history || !(is_result_ || grad_fn_) || !is_differentiable(tensor_.dtype())) {
    return tensor_;
  }
  Tensor result = with_edge(tensor_, node);
  if (FLAMBEAU_UNLIKELY(has_tangent(tensor_))) set_tangent(result, tangent(tensor_));
  return result;
}

Tensor SavedTensor::unpack_original(const Node& node) const {
  const Tensor result = unpack(node, true);
  if (!grad_fn_ || !grad_fn_->is_accumulator) return result;
  const Tensor leaf = static_cast<const AccumulateGrad&>(*grad_fn_).leaf();
  const bool is_unchanged = leaf.defined() && leaf.storage() == result.storage() &&
                            leaf.offset() == result.offset() && leaf.dtype() == result.dtype() &&
                            equal(leaf.sizes(), result.sizes()) &&
                            equal(leaf.strides(), result.strides());
  return is_unchanged ? leaf : result;
}

/// A result is saved before its tangent is known: the node keeps that.
void SavedTensor::adopt_tangent(const Node& node) const {
  if (!node.has_extras() || tangent(tensor_).defined()) return;
  for (const auto& kept : node.extras_if_any()->tangents) {
    if (kept.output == output_index_ && kept.level == forward_level.load()) {
      set_tangent(tensor_, kept.tangent);
    }
  }
}

SavedTensor save_overwritten(const Tensor& tensor, const char* name) {
  return SavedTensor(operations().clone(tensor), name);
}

void SavedTensor::reset() {
  if (!tensor_.defined() && !packed_) return;
  tensor_ = Tensor();
  packed_ = nullptr;
  grad_fn_ = nullptr;
  freed_ = true;
}

void SavedTensor::visit_held(HeldVisitor& visit) const {
  visit.tensor(tensor_);
  visit.node(grad_fn_.get());
  if (packed_.use_count() != 1) return;
  void* const value = packed_->value.get();
  visit.shared(value, packed_->value.use_count(), {&value, 1});
  visit.shared(packed_->hooks.get(), packed_->hooks.use_count(), packed_->hooks->objects);
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
