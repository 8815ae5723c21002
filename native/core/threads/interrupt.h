#pragma once

#include <cstdint>
#include <utility>

#include "core/base/macros.h"
#include "core/base/processor.h"

/// How long work ends when the user asks for it.
namespace flambeau {

/// Set by the binding: throws when the user wants this thread to stop. Called where a region may
/// end, some times a second.
extern FLAMBEAU_API void (*stop_if_asked)();

namespace detail {
/// When this thread looks next, in ticks of the processor.
extern FLAMBEAU_API thread_local constinit uint64_t next_look
    __attribute__((tls_model("initial-exec")));
FLAMBEAU_API void look_for_interrupt();
}  // namespace detail

/// Between blocks of long work (from microseconds to a tenth of a second): throws when it is to
/// end, because the user wants so or because another thread's part of it failed. parallel_for does
/// it between chunks; only bodies that take long for one item, and loops without it, need more.
FLAMBEAU_INLINE void check_interrupt() {
  if (FLAMBEAU_UNLIKELY(ticks() >= detail::next_look)) detail::look_for_interrupt();
}

/// While it lives, this thread looks for nothing: where a lock is held that a handler may need.
class InterruptPause {
 public:
  InterruptPause() : next_look_(std::exchange(detail::next_look, UINT64_MAX)) {}
  ~InterruptPause() { detail::next_look = next_look_; }
  InterruptPause(const InterruptPause&) = delete;
  InterruptPause& operator=(const InterruptPause&) = delete;

 private:
  uint64_t next_look_;
};

/// Calls body(begin, end) for ranges of [0, count) after each of which it is time to look.
template <int64_t kBlock = int64_t{1} << 18, class Body>
FLAMBEAU_INLINE void in_blocks(int64_t count, const Body& body) {
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    if (begin > 0) check_interrupt();
    body(begin, begin + kBlock < count ? begin + kBlock : count);
  }
}

}  // namespace flambeau
