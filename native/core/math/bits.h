#pragma once

/// Bits of numbers.

#include "core/math/numbers.h"

namespace FLAMBEAU_MATH {

template <Integer T>
FLAMBEAU_SHORT T bitwise_not(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return !x;
  } else {
    return static_cast<T>(~x);
  }
}

namespace detail {
/// A bool counts as an integer of its size.
template <Integer T>
using Bits = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
}  // namespace detail

/// 0 once every bit is shifted out, or for a negative count, which as an unsigned one is large.
template <Integer T>
FLAMBEAU_SHORT T left_shift(T a, T b) {
  using U = detail::Bits<T>;
  constexpr U kLast = 8 * sizeof(T) - 1;
  const U count = static_cast<U>(b);
  return count <= kLast ? static_cast<T>(static_cast<U>(a) << (count & kLast)) : T(0);
}
/// Keeps the sign; a count out of range shifts every bit out. AVX2 has no such shift of 64 bits:
/// the bits of a negative number are inverted before and behind it.
template <Integer T>
FLAMBEAU_SHORT T right_shift(T a, T b) {
  using U = detail::Bits<T>;
  constexpr U kLast = 8 * sizeof(T) - 1;
  const U count = static_cast<U>(b);
  const T sign = std::is_signed_v<T> && a < T(0) ? T(-1) : T(0);
  if constexpr (sizeof(T) < 8 || !std::is_signed_v<T>) {
    return count <= kLast ? static_cast<T>(a >> (count & kLast)) : sign;
  } else {
#if defined(__AVX512F__)
    return count <= kLast ? a >> (count & kLast) : sign;
#else
    return count <= kLast ? static_cast<T>(static_cast<U>(a ^ sign) >> (count & kLast)) ^ sign
                          : sign;
#endif
  }
}

/// The 64 bits of the float64 that equals a number, of the int64 that equals an integer.
template <Arithmetic T>
FLAMBEAU_SHORT int64_t word(T x) {
  if constexpr (Real<T>) {
    const double wide = x;
    int64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    return bits;
  } else {
    return static_cast<int64_t>(x);
  }
}

}  // namespace FLAMBEAU_MATH
