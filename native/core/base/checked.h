#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace flambeau {

// Arithmetic on sizes, counts and positions that come from a caller. Where the result does not fit
// 64 bits: Error(runtime) that names the operator `op` and both numbers.

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void overflow(const char* op, int64_t a, char sign,
                                                            int64_t b) {
  fail(ErrorKind::runtime, op, "(): the size ", a, ' ', sign, ' ', b, " does not fit 64 bits");
}
}  // namespace detail

FLAMBEAU_INLINE int64_t checked_add(int64_t a, int64_t b, const char* op) {
  int64_t result;
  if (FLAMBEAU_UNLIKELY(__builtin_add_overflow(a, b, &result))) detail::overflow(op, a, '+', b);
  return result;
}

FLAMBEAU_INLINE int64_t checked_sub(int64_t a, int64_t b, const char* op) {
  int64_t result;
  if (FLAMBEAU_UNLIKELY(__builtin_sub_overflow(a, b, &result))) detail::overflow(op, a, '-', b);
  return result;
}

FLAMBEAU_INLINE int64_t checked_mul(int64_t a, int64_t b, const char* op) {
  int64_t result;
  if (FLAMBEAU_UNLIKELY(__builtin_mul_overflow(a, b, &result))) detail::overflow(op, a, '*', b);
  return result;
}

}  // namespace flambeau
