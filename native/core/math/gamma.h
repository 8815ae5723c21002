#pragma once

/// Gamma-like functions. lgamma and erfinv of float and double are the room's own: not every C
/// library has them.

#include "core/math/elementary.h"

namespace FLAMBEAU_MATH {

/// Recurrence up to 10, then the asymptotic series log x - 1/2x - sum B_2k / (2k x^2k); reflection
/// for negative x. Poles give NaN, +-0 gives -+infinity.
FLAMBEAU_LONG double digamma(double x) {
  constexpr double kPi = 3.141592653589793;
  if (x == 0) return copysign(highest<double>(), -x);
  double reflected = 0;
  if (x < 0) {
    if (x == trunc(x)) return highest<double>() - highest<double>();
    // tan of the fraction: pi * x would lose the digits of a large x.
    reflected = -kPi / tan(kPi * (x - trunc(x)));
    x = 1 - x;
  }
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1. / 12 -
           z * (1. / 120 -
                z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return sum + log(x) - 0.5 / x - series + reflected;
}
FLAMBEAU_LONG float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

/// Hurwitz zeta(s, q), s > 1, q > 0: Euler-Maclaurin with 10 terms of the sum.
FLAMBEAU_LONG double hurwitz_zeta(double s, double q) {
  constexpr int kTerms = 10;
  // B_2k, k = 1..10.
  constexpr double kBernoulli[] = {1. / 6,       -1. / 30,      1. / 42, -1. / 30,
                                   5. / 66,      -691. / 2730,  7. / 6,  -3617. / 510,
                                   43867. / 798, -174611. / 330};
  double sum = 0;
  for (int k = 0; k < kTerms; ++k) sum += pow(q + k, -s);
  const double w = q + kTerms;
  const double power = pow(w, -s);
  sum += power * w / (s - 1) + 0.5 * power;
  double factor = s * power / w, factorial = 2;
  for (int k = 1; k <= 10; ++k) {
    const double term = kBernoulli[k - 1] * factor / factorial;
    sum += term;
    if (abs(term) < 1e-17 * abs(sum)) break;
    factor *= (s + 2 * k - 1) * (s + 2 * k) / (w * w);
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return sum;
}

/// n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x); trigamma is reflected for x <= 0.
FLAMBEAU_LONG double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (x != x) return x;
  const double order = static_cast<double>(n + 1), sign = n % 2 == 0 ? -1 : 1;
  const double factorial = ::tgamma(order);
  double shift = 0;
  if (x <= 0) {
    if (x == trunc(x)) return sign * highest<double>();
    if (n == 1) {
      const double sine = sin(3.141592653589793 * (x - trunc(x)));
      return 9.869604401089358 / (sine * sine) - hurwitz_zeta(2, 1 - x);
    }
    // psi_n(x) = psi_n(x + m) - (-1)^n n! sum_k 1 / (x + k)^(n + 1)
    for (; x <= 0; ++x) shift += pow(x, -order);
  }
  if (x == highest<double>()) return 0;
  return sign * factorial * (shift + hurwitz_zeta(order, x));
}
FLAMBEAU_LONG float polygamma(int64_t n, float x) {
  return static_cast<float>(polygamma(n, static_cast<double>(x)));
}

#define FLAMBEAU_OF_INTEGER(name) \
  FLAMBEAU_SHORT double name(Integer auto x) { return name(static_cast<double>(x)); }
FLAMBEAU_OF_INTEGER(lgamma)
FLAMBEAU_OF_INTEGER(digamma)
FLAMBEAU_OF_INTEGER(erfinv)
#undef FLAMBEAU_OF_INTEGER

}  // namespace FLAMBEAU_MATH
