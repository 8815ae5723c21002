#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "autograd/graph/node.h"

namespace flambeau::autograd {

/// One byte; for sections that never wait for anything else.
class SpinLock {
 public:
  void lock() noexcept {
    for (int spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins > 64) std::this_thread::yield();
    }
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

/// Where gradients of a leaf end: holds .grad. The leaf owns it, graphs share it; it knows the leaf
/// without owning it, so that there is no cycle, and drops .grad when the leaf goes: a gradient
/// with a graph leads back here.
class FLAMBEAU_API AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  const char* own_name() const override { return "AccumulateGrad"; }
  Gradients apply(Gradients&& gradients) override;
  void visit_held(HeldVisitor& visit) const override { visit.tensor(grad_); }

  /// Adds to .grad: takes over a buffer that nobody else holds, adds in place otherwise; out of
  /// place and recorded when grad mode is on. Does nothing once the leaf is gone.
  void accumulate(Tensor gradient);
  Tensor grad() const;
  void set_grad(Tensor grad);
  Tensor& unlocked_grad() { return grad_; }

  /// The dtype that gradients are converted to: the leaf's, unless another was chosen; none: any.
  std::optional<DType> grad_dtype() const;
  void choose_grad_dtype(std::optional<DType> dtype);
  bool takes_any_dtype() const { return chosen_ && !*chosen_; }

  /// The leaf, undefined once it is gone. Not while another thread may drop its last handle.
  Tensor leaf() const;
  void forget_leaf() noexcept;
  /// Notes the leaf's geometry, dtype and device, of which its gradients are to be.
  void describe(const Tensor& leaf);
  /// The accumulator of a leaf whose shape changed, with .grad and hooks of this one. A graph that
  /// leads here was recorded for the former shape: its gradients are errors from now on.
  Ref<AccumulateGrad> renew(const Tensor& leaf);

 private:
  bool add_in_place(const Tensor& gradient);

  mutable SpinLock lock_;
  bool outdated_ = false;
  Tensor grad_;
  TensorImpl* leaf_;
  std::optional<std::optional<DType>> chosen_;  // by the caller, rather than the leaf's
  std::unique_ptr<Shape> strides_;  // of a leaf that is not row-major: its .grad follows it
};

/// Whether this thread's backward gives .grad the layout of its leaf, even if that takes a copy.
FLAMBEAU_API bool layouts_enforced();
FLAMBEAU_API void set_layouts_enforced(bool enforced);

/// Whether this handle is the only way to the tensor's memory, and the memory is dense.
bool owns_buffer(const Tensor& tensor);

}  // namespace flambeau::autograd
