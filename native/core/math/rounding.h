#pragma once

/// Rounding, division, and the parts of a number. The room has fmod, nextafter, binary_exponent and
/// binary_fraction; detail::multiply_add(a, b, c) of doubles, which rounds once where
/// detail::kFuses says so, detail::trailing_zeros(x) of unsigned words that are not 0, and
/// detail::zero_divisor<T>(name), the quotient of integers that have none.

#include "core/math/numbers.h"
#include "core/math/signs.h"
#include FLAMBEAU_OWN(rounding)

namespace FLAMBEAU_MATH {

#define FLAMBEAU_ROUNDING(name, function)                         \
  FLAMBEAU_SHORT float name(float x) { return ::function##f(x); } \
  FLAMBEAU_SHORT double name(double x) { return ::function(x); }  \
  template <Integer T>                                            \
  FLAMBEAU_SHORT T name(T x) {                                    \
    return x;                                                     \
  }
FLAMBEAU_ROUNDING(floor, floor)
FLAMBEAU_ROUNDING(ceil, ceil)
FLAMBEAU_ROUNDING(trunc, trunc)
FLAMBEAU_ROUNDING(round, rint)  // halves to even
#undef FLAMBEAU_ROUNDING

FLAMBEAU_OF_TWO(nextafter)

/// The remainder with the sign of a; that of float and double is the room's own.
template <Integer T>
FLAMBEAU_SHORT T fmod(T a, T b) {
  if (FLAMBEAU_UNLIKELY(b == T(0))) return detail::zero_divisor<T>("fmod");
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;  // the smallest integer would trap
  }
  return static_cast<T>(a % b);
}

namespace detail {

/// floor(a / b) and what is left of a: where one fused step finds that exactly. Where the quotient
/// was rounded up to an integer, `rest` has the wrong sign, which is rare.
struct Floored {
  double whole, rest;
  bool is_found, is_beyond;
};
FLAMBEAU_SHORT Floored floored(double a, double b) {
  const double quotient = a / b, whole = floor(quotient);
  const double rest = multiply_add(-whole, b, a);
  const bool is_found = kFuses && abs(quotient) < 0x1p53 && abs(b) < highest<double>();
  return {whole, rest, is_found, copysign(rest, b) != rest};
}

}  // namespace detail

/// The remainder with the sign of b.
FLAMBEAU_SHORT double remainder(double a, double b) {
  const detail::Floored found = detail::floored(a, b);
  if (FLAMBEAU_LIKELY(found.is_found)) {
    if (FLAMBEAU_UNLIKELY(found.is_beyond)) return found.rest + b;
    return abs(found.rest) > 0 ? found.rest : copysign(0., a);
  }
  const double rest = fmod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}
FLAMBEAU_SHORT float remainder(float a, float b) {
  const float rest = fmod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}
template <Integer T>
FLAMBEAU_SHORT T remainder(T a, T b) {
  const T rest = fmod(a, b);
  const bool is_other = (rest != T(0)) & ((rest < T(0)) != (b < T(0)));
  return static_cast<T>(rest + static_cast<T>(is_other) * b);
}

/// floor(a / b), exact: a multiple of b is taken from a before dividing.
FLAMBEAU_DEAR double floor_divide(double a, double b) {
  const detail::Floored found = detail::floored(a, b);
  if (FLAMBEAU_LIKELY(found.is_found))
    return FLAMBEAU_UNLIKELY(found.is_beyond) ? found.whole - 1 : found.whole;
  if (b == 0) return a / b;
  const double rest = fmod(a, b);
  double quotient = (a - rest) / b;
  quotient = (rest != 0) & ((rest < 0) != (b < 0)) ? quotient - 1 : quotient;
  double whole = floor(quotient);
  whole = quotient - whole > 0.5 ? whole + 1 : whole;
  return quotient == 0 ? copysign(0., a) * copysign(1., b) : whole;
}
/// Of float in double, where the quotient of two numbers of 24 bits is not rounded to an integer
/// that it is below, while integers of that size are told apart.
FLAMBEAU_SHORT float floor_divide(float a, float b) {
  const double quotient = static_cast<double>(a) / b;
  // An infinite divisor leaves of a quotient below 0 its sign; an infinite a has no rest.
  const bool is_below = (quotient == 0) & (a != 0) & ((a < 0) != (b < 0));
  const double whole = is_below ? -1 : floor(quotient);
  return static_cast<float>((a - a == 0) | (b == 0) ? whole : quotient - quotient);
}
template <Integer T>
FLAMBEAU_SHORT T floor_divide(T a, T b) {
  if (FLAMBEAU_UNLIKELY(b == T(0))) return detail::zero_divisor<T>("floor_divide");
  if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (b == -1) return static_cast<T>(U(0) - static_cast<U>(a));
  }
  const T quotient = static_cast<T>(a / b);
  const bool is_above = (quotient * b != a) & ((a < T(0)) != (b < T(0)));
  return static_cast<T>(quotient - is_above);
}

/// Stein's algorithm over magnitudes: of odd numbers, what divides both divides their difference,
/// whose factors 2 do not count. The largest magnitude, of the smallest integer, wraps around.
template <Integer T>
FLAMBEAU_DEAR T gcd(T a, T b) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Word x = a < T(0) ? Word(0) - static_cast<Word>(a) : static_cast<Word>(a);
  Word y = b < T(0) ? Word(0) - static_cast<Word>(b) : static_cast<Word>(b);
  if (x == 0 || y == 0) return static_cast<T>(x | y);
  const int shared = detail::trailing_zeros(x | y);
  x >>= detail::trailing_zeros(x);
  y >>= detail::trailing_zeros(y);
  while (x != y) {
    const Word gap = x > y ? x - y : y - x;
    y = x > y ? y : x;
    x = gap >> detail::trailing_zeros(gap);
  }
  return static_cast<T>(x << shared);
}

/// The magnitude, which wraps around; 0 if either is.
template <Integer T>
FLAMBEAU_DEAR T lcm(T a, T b) {
  using Word = decltype(a * b);
  const T divisor = gcd(a, b);
  if (divisor == T(0)) return T(0);
  const uint64_t product = static_cast<uint64_t>(a / divisor) * static_cast<uint64_t>(b);
  return static_cast<T>(static_cast<Word>(product) < 0 ? 0 - product : product);
}

}  // namespace FLAMBEAU_MATH
