#pragma once

/// Logarithms of the gamma function.

#include "core/math/sine_of_pi.h"
#include "cpu/elementary/parts.h"
#include "cpu/math/exponentials.h"

namespace FLAMBEAU_MATH {

/// log |gamma(x)|: in double, by Stirling's series at x + 7 and the product that leads there;
/// reflected below 0.5, where gamma(x) gamma(1 - x) = pi / sin(pi x).
FLAMBEAU_INLINE float lgamma(float given) {
  constexpr double kPi = 3.141592653589793, kLogRootTwoPi = 0.9189385332046727;
  const double x = given;
  const bool reflected = x < 0.5;
  const double t = reflected ? 1 - x : x;
  const double product = t * (t + 1) * ((t + 2) * (t + 3)) * ((t + 4) * (t + 5) * (t + 6));
  const double y = t + 7, r = 1 / y, z = r * r;
  const double series = r * detail::polynomial(z, 1. / 156, -691. / 360360, 1. / 1188, -1. / 1680,
                                               1. / 1260, -1. / 360, 1. / 12);
  const double far = (y - 0.5) * log(y) - y + kLogRootTwoPi + series;
  const double near = log(reflected ? kPi * product / detail::sine_of_pi(x) : product);
  const double value = reflected ? near - far : far - near;
  const float infinity = __builtin_inff();
  return __builtin_fabsf(given) == infinity ? infinity : static_cast<float>(value);
}
/// The C library's, without its global sign; of many positive numbers at once in vectors.
FLAMBEAU_INLINE double lgamma(double x) {
#ifdef FLAMBEAU_LOG_GAMMA
  return FLAMBEAU_LOG_GAMMA(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);
#endif
}

}  // namespace FLAMBEAU_MATH
