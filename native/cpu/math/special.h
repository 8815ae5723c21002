#pragma once

/// Logarithms of the gamma function; polynomials of many numbers at once.

#include "core/math/sine_of_pi.h"
#include "cpu/elementary/parts.h"
#include "cpu/math/exponentials.h"

namespace FLAMBEAU_MATH {

namespace detail {

/// log |gamma(x)|: in double, by Stirling's series at x + 7 and the product that leads there;
/// reflected below 0.5, if any x is there, where gamma(x) gamma(1 - x) = pi / sin(pi x).
template <bool reflects>
FLAMBEAU_INLINE float log_gamma_of(float given) {
  constexpr double kPi = 3.141592653589793, kLogRootTwoPi = 0.9189385332046727;
  const double x = given;
  const bool reflected = reflects && x < 0.5;
  const double t = reflected ? 1 - x : x;
  const double product = t * (t + 1) * ((t + 2) * (t + 3)) * ((t + 4) * (t + 5) * (t + 6));
  const double y = t + 7, r = 1 / y, z = r * r;
  const double series = r * polynomial(z, 1. / 156, -691. / 360360, 1. / 1188, -1. / 1680,
                                       1. / 1260, -1. / 360, 1. / 12);
  const double far = (y - 0.5) * log_of_normal(y) - y + kLogRootTwoPi + series;
  const double sine = reflected ? sine_of_pi(x) : 1;  // 0 at poles
  const double near = log_of_normal(reflected ? kPi * product / sine : product);
  const double value = reflected ? near - far : far - near;
  const float infinity = __builtin_inff();
  const float finite = (x - 1) * (x - 2) == 0 ? 0 : static_cast<float>(value);
  return sine == 0 || __builtin_fabsf(given) == infinity ? infinity : finite;
}

}  // namespace detail

#ifdef FLAMBEAU_LANES_OF
FLAMBEAU_INLINE float lgamma(float x) { return FLAMBEAU_LANES_OF(log_gamma, float)(x); }
/// The C library's, without its global sign; of many positive numbers at once in vectors.
FLAMBEAU_INLINE double lgamma(double x) { return FLAMBEAU_LANES_OF(log_gamma, double)(x); }

FLAMBEAU_INLINE float orthogonal_polynomial(int64_t kind, float x, float degree) {
  return FLAMBEAU_LANES_OF(polynomial, float)(x, degree, static_cast<float>(kind));
}
FLAMBEAU_INLINE double orthogonal_polynomial(int64_t kind, double x, double degree) {
  return FLAMBEAU_LANES_OF(polynomial, double)(x, degree, static_cast<double>(kind));
}
#else
FLAMBEAU_INLINE float lgamma(float x) { return detail::log_gamma_of<true>(x); }
FLAMBEAU_INLINE double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
#endif

}  // namespace FLAMBEAU_MATH
