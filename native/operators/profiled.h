#pragma once

#include "core/profiling/recorder.h"
#include "operators/forms.h"
#include "operators/taken.h"

namespace flambeau::forms {

/// A call of an operator, which a profile sees while it lasts.
class Profiled {
 public:
  template <class... Tensors>
  FLAMBEAU_INLINE explicit Profiled(const char* name, const Tensors&... tensors) {
    if (FLAMBEAU_UNLIKELY(profiling::recorded_now() != 0)) start(name, tracked(tensors...));
  }
  /// Whether somebody may compute the call in place of the operator (operators/taken.h).
  FLAMBEAU_INLINE bool may_be_taken() const { return FLAMBEAU_UNLIKELY(may_be_taken_); }

 private:
  FLAMBEAU_API void start(const char* name, TrackedList tensors);
  profiling::Scope scope_;
  bool may_be_taken_ = false;
};

}  // namespace flambeau::forms
