#pragma once

/// What every processor can, and each names differently.

#include <cstdint>

#include "core/base/macros.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace flambeau {

#if defined(__x86_64__)

/// A counter that goes on evenly; reading it takes a third of the time of the system's clock.
FLAMBEAU_INLINE uint64_t ticks() { return __rdtsc(); }
/// About: that of the slowest processors.
inline uint64_t ticks_per_second() { return uint64_t{1} << 31; }
/// Between two looks at memory that another thread will write.
FLAMBEAU_INLINE void relax() { _mm_pause(); }

#elif defined(__aarch64__)

FLAMBEAU_INLINE uint64_t ticks() {
  uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}
inline uint64_t ticks_per_second() {
  uint64_t frequency;
  asm("mrs %0, cntfrq_el0" : "=r"(frequency));
  return frequency;
}
FLAMBEAU_INLINE void relax() { asm volatile("yield"); }

#endif

}  // namespace flambeau
