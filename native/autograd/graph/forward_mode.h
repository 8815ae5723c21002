#pragma once

#include <atomic>

#include "autograd/graph/history.h"

namespace flambeau::autograd {

/// Forward mode. The number of the level that is active in the process; zero: nothing to do.
extern FLAMBEAU_API std::atomic<uint32_t> forward_level;
/// Error(runtime) when a level is active already. Returns its number, never used before.
FLAMBEAU_API uint32_t enter_forward_level();
/// Drops all tangents of the level.
FLAMBEAU_API void exit_forward_level(uint32_t level);
/// The tangent at the current level, undefined if none.
FLAMBEAU_API Tensor tangent(const Tensor& tensor);
inline Tensor tangent(const Operand& operand) {
  return operand.is_tensor() ? tangent(operand.tensor()) : Tensor();
}
/// Of a fresh result (before it is saved for backward).
FLAMBEAU_API void set_tangent(const Tensor& tensor, const Tensor& tangent);
/// Of a tensor that was written in place: views of it, and its base, see the new tangent.
FLAMBEAU_API void rebase_tangent(const Tensor& self, const Tensor& tangent);
/// While this thread computes a tangent: the operators of that computation have none themselves.
extern FLAMBEAU_API FLAMBEAU_FAST_TLS thread_local constinit bool forward_paused;
class ForwardPause {
 public:
  ForwardPause() : previous_(forward_paused) { forward_paused = true; }
  ~ForwardPause() { forward_paused = previous_; }
  ForwardPause(const ForwardPause&) = delete;
  ForwardPause& operator=(const ForwardPause&) = delete;

 private:
  bool previous_;
};
FLAMBEAU_API bool has_tangent_slow(const Tensor& tensor);
/// Whether an operator on it must compute a tangent. Not inside a ForwardPause, where tangent()
/// still answers.
inline bool has_tangent(const Tensor& tensor) {
  return has_autograd(tensor) && forward_level.load(std::memory_order_relaxed) != 0 &&
         !forward_paused && has_tangent_slow(tensor);
}
inline bool has_tangent(const Operand& operand) {
  return operand.is_tensor() && has_tangent(operand.tensor());
}
inline bool has_tangent(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    if (has_tangent(tensor)) return true;
  }
  return false;
}

/// Whether gradients are differentiated themselves, backward or forward: a backward must then be
/// made of operators, and no sum may be in place.
inline bool is_tracking() {
  return grad_enabled() || forward_level.load(std::memory_order_relaxed) != 0;
}

}  // namespace flambeau::autograd
