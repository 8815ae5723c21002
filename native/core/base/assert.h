#pragma once

/// What holds whatever a caller passes: looked at in builds for fuzzing alone, where a condition
/// that does not hold ends the process. Callers' mistakes are check()'s (error.h).

#if defined(FLAMBEAU_ASSERTIONS) && !defined(__CUDACC__)

#include <cstdio>
#include <cstdlib>

namespace flambeau::detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void assertion_failed(const char* condition,
                                                                    const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace flambeau::detail

#define FLAMBEAU_ASSERT(condition) \
  (static_cast<bool>(condition)    \
       ? static_cast<void>(0)      \
       : ::flambeau::detail::assertion_failed(#condition, __FILE__, __LINE__))

#else
#define FLAMBEAU_ASSERT(condition) static_cast<void>(0)
#endif
