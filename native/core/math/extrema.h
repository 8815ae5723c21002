#pragma once

/// The larger and the smaller one of two numbers.

#include "core/math/numbers.h"

namespace FLAMBEAU_MATH {

/// NaN if either is. A comparison with a NaN is false and gives a, so that only b needs a test: a
/// running maximum waits for one instruction, as the test of a new element does not depend on it.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto maximum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  const T larger = y > x ? y : x;
  return y != y ? y : larger;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto minimum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  const T smaller = y < x ? y : x;
  return y != y ? y : smaller;
}
/// The one that is not NaN.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto fmax(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return (x >= y) | (y != y) ? x : y;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto fmin(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return (x <= y) | (y != y) ? x : y;
}

}  // namespace FLAMBEAU_MATH
