#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "autograd/node.h"

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
/// without owning it, so that there is no cycle.
class FLAMBEAU_API AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  const char* name() const override { return "AccumulateGrad"; }
  Gradients apply(Gradients&& gradients) override;

  /// Adds to .grad: takes over a buffer that nobody else holds, adds in place otherwise; out of
  /// place and recorded when grad mode is on.
  void accumulate(Tensor gradient);
  Tensor grad() const;
  void set_grad(Tensor grad);
  Tensor& unlocked_grad() { return grad_; }

  /// The leaf, undefined once it is gone. Not while another thread may drop its last handle.
  Tensor leaf() const;
  void forget_leaf() noexcept;

 private:
  Tensor settle(const Tensor& gradient) const;

  mutable SpinLock lock_;
  Tensor grad_;
  TensorImpl* leaf_;
  std::unique_ptr<Shape> strides_;  // of a leaf that is not row-major: its .grad follows it
};

/// Whether this handle is the only way to the tensor's memory, and the memory is dense.
bool owns_buffer(const Tensor& tensor);

}  // namespace flambeau::autograd
