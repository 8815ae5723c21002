#pragma once

/// Gamma-like functions. lgamma of reals is the room's own.

#include "core/math/powers.h"
#include "core/math/rounding.h"
#include "core/math/signs.h"
#include "core/math/sine_of_pi.h"
#include "core/math/trigonometry.h"
#include FLAMBEAU_OWN(special)

namespace FLAMBEAU_MATH {

namespace detail {

/// The sum of 1 / x for x, x + 1, ... below `end`, which x becomes; as one fraction, for the cost
/// of one division.
FLAMBEAU_SHORT double sum_of_inverses(double& x, double end) {
  double numerator = 0, denominator = 1;
  for (; x < end; ++x) {
    numerator = numerator * x + denominator;
    denominator *= x;
  }
  return numerator / denominator;
}

template <int count>
FLAMBEAU_SHORT double horner(const double (&coefficients)[count], double x) {
  double sum = coefficients[count - 1];
  for (int i = count - 2; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

/// digamma between 1 and 2, with small relative error: the distance from its zero, in two parts,
/// times a rational function that agrees with the quotient in 13 Chebyshev points, computed with
/// mpmath.
FLAMBEAU_SHORT double digamma_of_1_to_2(double x) {
  constexpr double kAbove[] = {1.2503801375034054,    1.8675925104074453,  0.9711327526262392,
                               0.21631407251432455,   0.01996408274151926, 0.0005811135063985677,
                               1.0894678528383955e-06};
  constexpr double kBelow[] = {1.0,
                               2.1771665986671342,
                               1.6630736963665909,
                               0.5710455727133128,
                               0.09111902253303285,
                               0.006100975692434821,
                               0.00012043151172286901};
  const double distance = (x - 1.4616321449683622) - 9.549995429965697e-17;
  return distance * horner(kAbove, x - 1) / horner(kBelow, x - 1);
}

/// The asymptotic series log x - 1/2x - sum B_2k / (2k x^2k) from `start` on, the recurrence below,
/// which leads between 1 and 2 from 4 on; reflection below -1. Poles give NaN, +-0 gives
/// -+infinity.
FLAMBEAU_SHORT double digamma_from(double start, double x) {
  constexpr double kPi = 3.141592653589793;
  if (x == 0) return copysign(highest<double>(), -x);
  double more = 0;
  if (x <= -1) {
    if (x == trunc(x)) return highest<double>() - highest<double>();
    // tan of the fraction: pi * x would lose the digits of a large x.
    more = -kPi / tan(kPi * (x - trunc(x)));
    x = 1 - x;
  } else if (x < 0) {
    more = -(2 * x + 1) / (x * (x + 1));  // -1 / x - 1 / (x + 1)
    x += 2;
  } else if (x < 1) {
    more = -1 / x;
    x += 1;
  }
  if (x < 4) {
    while (x > 2) more += 1 / --x;
    return digamma_of_1_to_2(x) + more;
  }
  const double sum = sum_of_inverses(x, start);
  const double z = 1 / (x * x);
  const double series =
      z * (1. / 12 -
           z * (1. / 120 -
                z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return log(x) - 0.5 / x - series - sum + more;
}

/// 1/x + 1/2x^2 + sum B_2k / x^(2k + 1), below `start` that of x + start and the terms 1 / (x +
/// k)^2 that lead there, as one fraction; reflected where x <= 0. Poles give infinity. Without
/// branches, so that loops vectorise.
FLAMBEAU_SHORT double trigamma_from(int start, double given) {
  const bool is_reflected = given <= 0;
  const double x = is_reflected ? 1 - given : given;
  double numerator = 0, denominator = 1;
  for (int k = 1; k < start; ++k) {
    const double square = (x + k) * (x + k);
    numerator = numerator * square + denominator;
    denominator *= square;
  }
  const bool is_near = x < start;
  const double r = 1 / (is_near ? x + start : x), z = r * r;
  const double series =
      r * z *
      (1. / 6 -
       z * (1. / 30 -
            z * (1. / 42 - z * (1. / 30 - z * (5. / 66 - z * (691. / 2730 - z * 7 / 6))))));
  const double value = (is_near ? 1 / (x * x) + numerator / denominator : 0) + r + 0.5 * z + series;
  const double sine = sine_of_pi(given);
  return is_reflected ? 9.869604401089358 / (sine * sine) - value : value;
}

}  // namespace detail

FLAMBEAU_LONG double digamma(double x) { return detail::digamma_from(10, x); }
/// From 4 on the series is off by 1e-10.
FLAMBEAU_LONG float digamma(float x) {
  return static_cast<float>(detail::digamma_from(4, static_cast<double>(x)));
}

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

/// The Hurwitz zeta function sum_k 1 / (q + k)^s. Infinite at poles, NaN for s < 1, and where
/// powers of negative numbers are not real. With f the fraction of q, the terms with q + k < 0 are
/// +-(zeta(s, 1 - f) - zeta(s, 1 - q)).
FLAMBEAU_LONG double zeta(double s, double q) {
  if (s == 1) return highest<double>();
  if (!(s > 1) || q != q) return highest<double>() - highest<double>();
  if (q > 0 && s == highest<double>()) return q > 1 ? 0 : q == 1 ? 1 : s;
  if (q > 0) return q == highest<double>() ? 0 : hurwitz_zeta(s, q);
  if (q == floor(q)) return highest<double>();
  if (s != floor(s)) return highest<double>() - highest<double>();
  const double fraction = q - floor(q);
  const double below = hurwitz_zeta(s, 1 - fraction) - hurwitz_zeta(s, 1 - q);
  const bool is_odd = 2 * floor(0.5 * s) != s;
  return hurwitz_zeta(s, fraction) + (is_odd ? -below : below);
}
FLAMBEAU_SHORT float zeta(float s, float q) {
  return static_cast<float>(zeta(static_cast<double>(s), static_cast<double>(q)));
}

namespace detail {

/// Of any order but 1.
FLAMBEAU_SHORT double polygamma_by_zeta(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (x != x) return x;
  if (x == highest<double>()) return 0;
  const double order = static_cast<double>(n + 1);
  return (n % 2 == 0 ? -1 : 1) * ::tgamma(order) * zeta(order, x);
}

}  // namespace detail

/// n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x).
FLAMBEAU_SHORT double polygamma(int64_t n, double x) {
  return n == 1 ? detail::trigamma_from(12, x) : detail::polygamma_by_zeta(n, x);
}
FLAMBEAU_SHORT float polygamma(int64_t n, float x) {
  if (n == 1) return static_cast<float>(detail::trigamma_from(6, static_cast<double>(x)));
  return n == 0 ? digamma(x)
                : static_cast<float>(detail::polygamma_by_zeta(n, static_cast<double>(x)));
}

FLAMBEAU_OF_INTEGER(lgamma)
FLAMBEAU_OF_INTEGER(digamma)

}  // namespace FLAMBEAU_MATH
