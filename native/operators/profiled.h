#pragma once

#include "core/profiling/recorder.h"
#include "operators/taken.h"
#include "operators/tracked.h"

namespace flambeau::forms {

/// A call of an operator, which a profile sees while it lasts.
class Profiled {
 public:
  template <class... Args>
  FLAMBEAU_INLINE explicit Profiled(const char* name, const Args&... args) {
    if (FLAMBEAU_UNLIKELY(profiling::recorded_now() != 0)) start(name, tracked(args...));
  }
  /// Whether somebody may compute the call in place of the operator (operators/taken.h).
  FLAMBEAU_INLINE bool may_be_taken() const { return FLAMBEAU_UNLIKELY(may_be_taken_); }

 private:
  FLAMBEAU_API void start(const char* name, TrackedList tensors);
  profiling::Scope scope_;
  bool may_be_taken_ = false;
};

}  // namespace flambeau::forms

/// Begins a function that is more than a form: describes the call to profiles as `shown`, and
/// leaves where somebody else computes it, who knows it as `name`.
#define FLAMBEAU_CALLED(shown, name, function, asked, ...)                       \
  const ::flambeau::forms::Profiled profiled_(shown __VA_OPT__(, ) __VA_ARGS__); \
  do {                                                                           \
    if (!profiled_.may_be_taken()) break;                                        \
    if (auto taken_ = ::flambeau::forms::taken<decltype(function(__VA_ARGS__))>( \
            name, ::flambeau::forms::Asked::asked __VA_OPT__(, ) __VA_ARGS__)) { \
      return *std::move(taken_);                                                 \
    }                                                                            \
  } while (false)
