#include "autograd/accumulate.h"

#include <mutex>

#include "autograd/operations.h"
#include "autograd/state.h"
#include "core/iterator.h"

namespace flambeau::autograd {

bool owns_buffer(const Tensor& tensor) {
  return tensor.impl()->use_count() == 1 && tensor.storage()->use_count() == 1 &&
         tensor.is_contiguous();
}

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : leaf_(leaf.impl()) {
  is_accumulator = true;
  describe_output(*this, leaf, 0);
  if (!leaf.is_contiguous() && !has_internal_overlap(leaf)) {
    strides_ = std::make_unique<Shape>(leaf.strides());
  }
}

Gradients AccumulateGrad::apply(Gradients&& gradients) {
  if (gradients[0].defined()) accumulate(std::move(gradients[0]));
  return {};
}

/// What the first gradient becomes: memory of its own, in the leaf's layout.
Tensor AccumulateGrad::settle(const Tensor& gradient) const {
  if (is_tracking()) {
    return owns_buffer(gradient) ? gradient : operations().clone(gradient);
  }
  if (owns_buffer(gradient) && !strides_) {
    return has_autograd(gradient) ? shallow_copy(gradient) : gradient;
  }
  Tensor copy =
      strides_ ? empty_strided(gradient.sizes(), *strides_, gradient.dtype(), gradient.device())
               : empty(gradient.sizes(), gradient.dtype(), gradient.device());
  copy_data(copy, gradient);
  return copy;
}

void AccumulateGrad::accumulate(Tensor gradient) {
  // Like `gradient`, dropped after the lock: that may take the lock of Python.
  Tensor previous;
  const std::lock_guard guard(lock_);
  if (!grad_.defined()) {
    grad_ = settle(gradient);
  } else if (is_tracking() || requires_grad(grad_) ||
             (!grad_.is_contiguous() && has_internal_overlap(grad_))) {
    previous = operations().add(grad_, gradient);
    std::swap(previous, grad_);
  } else {
    operations().add_in_place(grad_, gradient);
  }
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

Tensor AccumulateGrad::leaf() const {
  const std::lock_guard guard(lock_);
  return leaf_ ? Tensor(Ref<TensorImpl>(leaf_)) : Tensor();
}

void AccumulateGrad::forget_leaf() noexcept {
  const std::lock_guard guard(lock_);
  leaf_ = nullptr;
}

}  // namespace flambeau::autograd
