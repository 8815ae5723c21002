#pragma once

/// How a gamma variate moves with its shape, for gradients of draws: M. Figurnov, S. Mohamed,
/// A. Mnih, "Implicit reparameterization gradients", 2018. At a fixed probability P(a, x),
///     d log x / da = -(dP/da) / (x dP/dx).

#include "core/math/incomplete_gamma.h"

namespace FLAMBEAU_MATH {

namespace detail {

/// From the power series of P and its derivative by a, term by term (R. J. Moore, "Algorithm AS
/// 187: Derivatives of the incomplete gamma integral", 1982).
FLAMBEAU_LONG double gamma_slope_series(double a, double log_x, double x) {
  double sum = 1, by_a = 0, term = 1, harmonic = 0;
  for (double k = a + 1; term > 1e-17 * sum; ++k) {
    term *= x / k;
    harmonic += 1 / k;
    sum += term;
    by_a -= term * harmonic;
  }
  return -((log_x - digamma(a + 1)) * sum + by_a) / a;
}

/// From Legendre's continued fraction of Q, each step of Lentz's method with its derivative by a.
FLAMBEAU_LONG double gamma_slope_fraction(double a, double log_x, double x) {
  double b = x + 1 - a, c = 1e300, c_by_a = 0, d = 1 / b, d_by_a = d * d;
  double sum = d, sum_by_a = d_by_a;
  for (int k = 1; k < 10000; ++k) {
    const double factor = k * (a - k);
    b += 2;
    d_by_a = 1 - k * d - factor * d_by_a;
    d = 1 / (factor * d + b);
    d_by_a *= d * d;
    c_by_a = -1 + k / c - factor * c_by_a / (c * c);
    c = b + factor / c;
    const double step = c * d, step_by_a = c_by_a * d + c * d_by_a;
    sum_by_a = sum_by_a * step + sum * step_by_a;
    sum *= step;
    if (abs(step - 1) < 2e-16 && abs(sum * step_by_a) < 1e-16 * abs(sum_by_a)) break;
  }
  return (log_x - digamma(a)) * sum + sum_by_a;
}

/// For large a, two orders in 1 / a: N. M. Temme's expansion of the inverse ("Asymptotic inversion
/// of incomplete gamma functions", 1992) is eta = eta_0 + log(eta_0 / mu_0) / (eta_0 a) + ...,
/// where eta^2 / 2 = mu - log(1 + mu), mu = x / a - 1; eta_0 sqrt(a) stays fixed with the
/// probability.
FLAMBEAU_LONG double gamma_slope_large(double a, double x) {
  const double mu = (x - a) / a;
  if (mu == 0) return 1 / a + 1 / (6 * a * a);
  const double half_square = excess_of_log1p(mu);
  const double second =
      abs(mu) < 0.02
          ? -1. / 3 + mu * (1. / 6 - mu * (1. / 10 - mu * (1. / 15 - mu * (1. / 21 - mu / 28))))
          : (1 - 2 * half_square * (1 + mu) / (mu * mu)) / mu;
  return (1 - half_square / mu) / a - second / (2 * a * a);
}

}  // namespace detail

/// d log x / da where P(a, x) stays the same, of log x: x itself may be too small for a number. NaN
/// unless a > 0. Relative errors are below 1e-12, above a = 2000 below 1e-8.
FLAMBEAU_LONG double gamma_slope(double a, double log_x) {
  if (!(a > 0) || log_x != log_x) return highest<double>() - highest<double>();
  if (a == highest<double>() || log_x == highest<double>()) return 0;
  const double x = exp(log_x);
  if (a > 2000) return detail::gamma_slope_large(a, x);
  if (x < a + 1) return detail::gamma_slope_series(a, log_x, x);
  return detail::gamma_slope_fraction(a, log_x, x);
}
FLAMBEAU_SHORT float gamma_slope(float a, float log_x) {
  return static_cast<float>(gamma_slope(static_cast<double>(a), static_cast<double>(log_x)));
}

}  // namespace FLAMBEAU_MATH
