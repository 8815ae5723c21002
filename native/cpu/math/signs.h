#pragma once

/// The length of the hypotenuse, which the modulus of a complex number is. Within 2 ULP.

#include "cpu/elementary/parts.h"

namespace FLAMBEAU_MATH {
namespace detail {

/// The larger one is brought to where squares neither overflow nor lose digits.
template <class T>
FLAMBEAU_INLINE T hypot_of(T a, T b) {
  constexpr bool is_single = sizeof(T) == 4;
  constexpr T limit = is_single ? T(0x1p50) : T(0x1p450),
              factor = is_single ? T(0x1p100) : T(0x1p600);
  const T x = magnitude(a), y = magnitude(b);
  const T larger = x > y ? x : y;
  const bool is_large = larger > limit, is_small = larger < 1 / limit;
  const T down = is_large ? 1 / factor : is_small ? factor : T(1);
  const T up = is_large ? factor : is_small ? 1 / factor : T(1);
  const T p = x * down, q = y * down;
  const T value = root(multiply_add(p, p, q * q)) * up;
  return (x == kInfinity<T>) | (y == kInfinity<T>) ? kInfinity<T> : value;
}

}  // namespace detail

FLAMBEAU_INLINE float hypot(float a, float b) { return detail::hypot_of(a, b); }
FLAMBEAU_INLINE double hypot(double a, double b) { return detail::hypot_of(a, b); }

}  // namespace FLAMBEAU_MATH
