#pragma once

/// Remainders, and the bits of a number.

#include <bit>
#include <concepts>
#include <cstdint>

#include "core/base/error.h"
#include "cpu/elementary/parts.h"

namespace FLAMBEAU_MATH {

namespace detail {

/// Division of integers by zero is an error.
template <class T>
[[noreturn]] T zero_divisor(const char* function) {
  fail(ErrorKind::runtime, function, ": division by zero");
}

FLAMBEAU_INLINE int trailing_zeros(std::unsigned_integral auto x) { return std::countr_zero(x); }

}  // namespace detail

/// The remainder with the sign of a. An infinite b counts as a large one. With a fused step, each
/// round leaves exactly what a quotient's first 51 bits do not cover, or half of b; quotients of
/// floats have 277 bits at most. Without, numbers of 24 bits with a quotient below 2^29 have a
/// product that is exact in double; the C library takes the other ones bit by bit.
FLAMBEAU_INLINE float fmod(float a, float b) {
  constexpr double kLarge = 1e300;
  const double magnitude = __builtin_fabs(static_cast<double>(b));
  const double divisor = magnitude > kLarge ? kLarge : magnitude;
  const double dividend = __builtin_fabs(static_cast<double>(a));
#ifdef __FP_FAST_FMA
  const double inverse = 1 / divisor;
  double rest = dividend;
#pragma GCC unroll 6
  for (int round = 0; round < 6; ++round)
    rest = __builtin_fma(-__builtin_rint(rest * inverse), divisor, rest);
  rest = rest < 0 ? rest + divisor : rest;
#else
  const double quotient = __builtin_trunc(dividend / divisor);
  if (FLAMBEAU_UNLIKELY(!(quotient < 0x1p29))) return ::fmodf(a, b);
  const double rest = dividend - quotient * divisor;
#endif
  return __builtin_copysignf(static_cast<float>(rest), a);
}
/// A fused step finds the rest of a quotient below 2^53 exactly, and where that was rounded up to
/// an integer, what b is more than the rest.
FLAMBEAU_INLINE double fmod(double a, double b) {
#ifdef __FP_FAST_FMA
  const double dividend = __builtin_fabs(a), divisor = __builtin_fabs(b);
  const double quotient = dividend / divisor;
  if (FLAMBEAU_LIKELY(quotient < 0x1p53 && divisor < __builtin_inf())) {
    const double rest = __builtin_fma(-__builtin_trunc(quotient), divisor, dividend);
    return __builtin_copysign(rest < 0 ? rest + divisor : rest, a);
  }
#endif
  return ::fmod(a, b);
}

namespace detail {

/// Numbers of one sign are in the order of their bits as integers.
template <class Bits, class T>
FLAMBEAU_INLINE T next_number(T a, T b) {
  const Bits bits = std::bit_cast<Bits>(a);
  const Bits moved = (a < 0) == (b < a) ? bits + 1 : bits - 1;
  const T next =
      a == 0 ? __builtin_copysign(std::bit_cast<T>(Bits(1)), b) : std::bit_cast<T>(moved);
  const T found = a == b ? b : next;
  return (a != a) | (b != b) ? a + b : found;
}

/// The bits of a number, taken apart. Numbers below the normal range are scaled into it first.
template <class T, class Bits, int mantissa>
struct Parts {
  static constexpr Bits kExponents = std::bit_cast<Bits>(static_cast<T>(__builtin_inf()));
  static constexpr Bits kHalf = std::bit_cast<Bits>(static_cast<T>(0.5));
  static constexpr int kScale = mantissa + 1;
  bool is_small, is_plain;
  Bits bits;

  FLAMBEAU_INLINE explicit Parts(T x)
      : is_small((std::bit_cast<Bits>(x) & kExponents) == 0),
        is_plain((x - x == 0) & (x != 0)),
        bits(std::bit_cast<Bits>(is_small ? x * static_cast<T>(Bits(1) << kScale) : x)) {}
  FLAMBEAU_INLINE T exponent() const {
    const Bits found = ((bits & kExponents) >> mantissa) - (kHalf >> mantissa);
    return is_plain ? static_cast<T>(is_small ? found - kScale : found) : T(0);
  }
  FLAMBEAU_INLINE T fraction(T x) const {
    return is_plain ? std::bit_cast<T>((bits & ~kExponents) | kHalf) : x;
  }
};
using FloatParts = Parts<float, int32_t, 23>;
using DoubleParts = Parts<double, int64_t, 52>;

}  // namespace detail

/// The power of 2 that x is a fraction in [0.5, 1) of; 0 of what is none.
FLAMBEAU_INLINE float binary_exponent(float x) { return detail::FloatParts(x).exponent(); }
FLAMBEAU_INLINE double binary_exponent(double x) { return detail::DoubleParts(x).exponent(); }
/// x without that power.
FLAMBEAU_INLINE float binary_fraction(float x) { return detail::FloatParts(x).fraction(x); }
FLAMBEAU_INLINE double binary_fraction(double x) { return detail::DoubleParts(x).fraction(x); }

FLAMBEAU_INLINE float nextafter(float a, float b) { return detail::next_number<int32_t>(a, b); }
FLAMBEAU_INLINE double nextafter(double a, double b) { return detail::next_number<int64_t>(a, b); }

}  // namespace FLAMBEAU_MATH
