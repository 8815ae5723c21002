#include "autograd/graph/accumulate.h"

#include <mutex>

#include "autograd/graph/forward_mode.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/stand_in.h"
#include "autograd/graph/state.h"
#include "core/tensor/overlap.h"
#include "core/tensor/sparse.h"
#include "core/threads/interrupt.h"

namespace flambeau::autograd {

namespace {
thread_local constinit bool enforces_layouts = true;
}  // namespace

bool layouts_enforced() { return enforces_layouts; }
void set_layouts_enforced(bool enforced) { enforces_layouts = enforced; }

bool owns_buffer(const Tensor& tensor) {
  return !is_sparse(tensor) && !may_stand_in(tensor) && tensor.impl()->use_count() == 1 &&
         tensor.storage()->use_count() == 1 && tensor.is_contiguous();
}

namespace {
/// What the first gradient becomes: memory of its own, in the leaf's layout.
Tensor settled(const Tensor& gradient, const Shape* strides) {
  if (is_sparse(gradient)) return is_tracking() ? gradient : copy_sparse(gradient, "backward");
  // What stands in for a tensor says itself what its copy is.
  if (is_tracking() || may_stand_in(gradient)) {
    return owns_buffer(gradient) ? gradient : operations().clone(gradient);
  }
  if (owns_buffer(gradient) && (!strides || !enforces_layouts)) {
    return has_autograd(gradient) ? shallow_copy(gradient) : gradient;
  }
  Tensor copy = strides
                    ? empty_strided(gradient.sizes(), *strides, gradient.dtype(), gradient.device())
                    : empty(gradient.sizes(), gradient.dtype(), gradient.device());
  copy_data(copy, gradient);
  return copy;
}
}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : leaf_(leaf.impl()) {
  is_accumulator = true;
  label = "torch::autograd::AccumulateGrad";  // as programs that read profiles know it
  describe(leaf);
}

void AccumulateGrad::describe(const Tensor& leaf) {
  describe_output(*this, leaf, 0);
  if (chosen_) outputs[0].dtype = chosen_->value_or(leaf.dtype());
  const bool follows = !leaf.is_contiguous() && !has_internal_overlap(leaf);
  auto strides = follows ? std::make_unique<Shape>(leaf.strides()) : nullptr;
  const std::lock_guard guard(lock_);
  std::swap(strides_, strides);
}

Ref<AccumulateGrad> AccumulateGrad::renew(const Tensor& leaf) {
  Ref<AccumulateGrad> fresh = make_ref<AccumulateGrad>(leaf);
  fresh->set_grad(grad());
  if (chosen_) fresh->choose_grad_dtype(*chosen_);
  if (has_extras()) fresh->extras() = extras();
  forget_leaf();
  outdated_ = true;
  return fresh;
}

Gradients AccumulateGrad::apply(Gradients&& gradients) {
  check(!outdated_, ErrorKind::runtime, "AccumulateGrad: a leaf of shape ", outputs[0].sizes,
        " was given data of another shape (by Tensor.data or out=) after this graph was recorded; "
        "its gradient cannot be added to .grad");
  if (gradients[0].defined()) accumulate(std::move(gradients[0]));
  return {};
}

/// Under the lock nothing may wait, not for the lock of Python either, which a thread may hold that
/// waits for this one. Operators do, where somebody is asked to take them over.
void AccumulateGrad::accumulate(Tensor gradient) {
  const InterruptPause pause;
  for (;;) {
    Tensor before, after;  // dropped after the lock
    std::unique_ptr<Shape> strides;
    {
      const std::lock_guard guard(lock_);
      if (!leaf_ || add_in_place(gradient)) return;
      before = grad_;
      if (strides_) strides = std::make_unique<Shape>(*strides_);
    }
    after =
        before.defined() ? operations().add(before, gradient) : settled(gradient, strides.get());
    const std::lock_guard guard(lock_);
    if (!leaf_) return;
    if (grad_.impl() != before.impl()) continue;  // another thread was faster
    std::swap(grad_, after);
    return;
  }
}

/// Whether a gradient could be added to .grad without an operator that somebody takes over.
bool AccumulateGrad::add_in_place(const Tensor& gradient) {
  if (!grad_.defined()) return false;
  check(equal(grad_.sizes(), gradient.sizes()), ErrorKind::runtime,
        "AccumulateGrad: .grad has shape ", grad_.sizes(), ", a gradient of shape ",
        gradient.sizes(), " cannot be added to it");
  if (is_tracking() || requires_grad(grad_) || is_sparse(grad_) || may_stand_in(grad_) ||
      may_stand_in(gradient) || (!grad_.is_contiguous() && has_internal_overlap(grad_))) {
    return false;
  }
  operations().add_unasked(grad_, gradient);
  return true;
}

Tensor AccumulateGrad::grad() const {
  const std::lock_guard guard(lock_);
  return grad_;
}

void AccumulateGrad::set_grad(Tensor grad) {
  const std::lock_guard guard(lock_);
  // The previous one leaves in the argument, which outlives the lock.
  std::swap(grad_, grad);
}

std::optional<DType> AccumulateGrad::grad_dtype() const {
  return chosen_ ? *chosen_ : std::optional(outputs[0].dtype);
}

void AccumulateGrad::choose_grad_dtype(std::optional<DType> dtype) {
  chosen_ = dtype;
  if (dtype) outputs[0].dtype = *dtype;
}

Tensor AccumulateGrad::leaf() const {
  const std::lock_guard guard(lock_);
  return leaf_ ? Tensor(Ref<TensorImpl>(leaf_)) : Tensor();
}

void AccumulateGrad::forget_leaf() noexcept {
  Tensor dropped;  // after the lock
  const std::lock_guard guard(lock_);
  leaf_ = nullptr;
  std::swap(grad_, dropped);
}

}  // namespace flambeau::autograd
