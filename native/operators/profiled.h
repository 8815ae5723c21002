#pragma once

#include "core/profiling/recorder.h"
#include "operators/forms.h"

namespace flambeau::forms {

/// A call of an operator, which a profile sees while it lasts.
class Profiled {
 public:
  template <class... Tensors>
  FLAMBEAU_INLINE explicit Profiled(const char* name, const Tensors&... tensors) {
    if (FLAMBEAU_UNLIKELY(profiling::recorded_now() != 0)) start(name, tracked(tensors...));
  }

 private:
  FLAMBEAU_API void start(const char* name, TrackedList tensors);
  profiling::Scope scope_;
};

}  // namespace flambeau::forms
