#pragma once

/// Powers and roots. The room has sqrt and pow of reals.

#include "core/math/exponentials.h"
#include "core/math/numbers.h"
#include "core/math/signs.h"
#include FLAMBEAU_OWN(powers)

namespace FLAMBEAU_MATH {

FLAMBEAU_OF_INTEGER(sqrt)
FLAMBEAU_OF_TWO(hypot)

template <Real T>
FLAMBEAU_SHORT T rsqrt(T x) {
  return 1 / sqrt(x);
}
FLAMBEAU_SHORT double rsqrt(Integer auto x) { return rsqrt(static_cast<double>(x)); }
template <class T>
FLAMBEAU_SHORT T square(T x) {
  return static_cast<T>(x * x);
}

/// Wraps around; a negative exponent gives 0 except for bases of magnitude 1.
template <Integer T>
FLAMBEAU_DEAR T pow(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || !b;
  } else {
    if (b < T(0)) return static_cast<T>(a == 1 ? 1 : a == T(-1) ? ((b & 1) != 0 ? -1 : 1) : 0);
    uint64_t result = 1, base = static_cast<uint64_t>(a);
    for (uint64_t left = static_cast<uint64_t>(b); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
}
template <Arithmetic A, Arithmetic B>
requires(!std::is_same_v<A, B>) FLAMBEAU_SHORT auto pow(A a, B b) {
  using T = std::common_type_t<A, B>;
  return pow(static_cast<T>(a), static_cast<T>(b));
}

FLAMBEAU_COMPLEX sqrt(complex<T> x) {
  using Range = detail::Range<T>;
  if (x.re == 0 && x.im == 0) return {0, x.im};
  if (isinf(x.im)) return {highest<T>(), x.im};
  if (isinf(x.re)) {
    if (x.re > 0) return {x.re, isnan(x.im) ? x.im : copysign(T(0), x.im)};
    return {isnan(x.im) ? x.im : T(0), copysign(highest<T>(), x.im)};
  }
  // By a quarter: the modulus of a large number must not overflow. Half of the root is lost again.
  const bool is_tiny = abs(x.re) < Range::tiny && abs(x.im) < Range::tiny;
  const T factor = is_tiny ? Range::up : T(0.25);
  const T re = x.re * factor, im = x.im * factor;
  const T root = sqrt((abs(re) + hypot(re, im)) / 2);
  const T other = im / (2 * root), back = is_tiny ? 1 / Range::root_of_up : T(2);
  if (x.re >= 0) return {root * back, other * back};
  return {abs(other) * back, copysign(root * back, x.im)};
}
FLAMBEAU_COMPLEX rsqrt(complex<T> x) { return complex<T>(1) / sqrt(x); }
/// Errors of the exponent grow with it: those of floats are computed in double.
FLAMBEAU_COMPLEX pow(complex<T> a, complex<T> b) {
  if (b.re == 0 && b.im == 0) return complex<T>(1);
  if (a.re == 0 && a.im == 0 && b.re > 0) return complex<T>(0);
  const complex<double> base(a), exponent(b);
  return complex<T>(exp(exponent * log(base)));
}

}  // namespace FLAMBEAU_MATH
