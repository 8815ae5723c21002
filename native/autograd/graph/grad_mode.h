#pragma once

#include "autograd/graph/pool.h"
#include "core/base/macros.h"

namespace flambeau {

/// Whether this thread records operators.
extern FLAMBEAU_API FLAMBEAU_FAST_TLS thread_local constinit bool grad_mode_enabled;
inline bool grad_enabled() { return grad_mode_enabled; }
inline void set_grad_enabled(bool enabled) { grad_mode_enabled = enabled; }

/// Turns recording off (or on) for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(grad_mode_enabled) { grad_mode_enabled = enabled; }
  ~GradMode() { grad_mode_enabled = previous_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

}  // namespace flambeau
