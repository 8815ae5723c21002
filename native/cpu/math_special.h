#pragma once

/// Gamma-like functions and the inverse error function. Included by math.h.

namespace flambeau::cpu::FLAMBEAU_ISA::math {

/// log |gamma(x)|; the C library's, without its global sign.
inline float lgamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

/// Recurrence up to 6, then the asymptotic series log x - 1/2x - sum B_2k / (2k x^2k); reflection
/// for negative x. Poles give NaN, +-0 gives -+infinity.
inline double digamma(double x) {
  constexpr double kPi = 3.141592653589793;
  if (x == 0) return ::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (x == ::trunc(x)) return std::numeric_limits<double>::quiet_NaN();
    // tan of the fraction: pi * x would lose the digits of a large x.
    return digamma(1 - x) - kPi / ::tan(kPi * (x - ::trunc(x)));
  }
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1. / 12 -
           z * (1. / 120 -
                z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return sum + ::log(x) - 0.5 / x - series;
}
inline float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

/// Hurwitz zeta(s, q), s > 1, q > 0: Euler-Maclaurin with 10 terms of the sum.
inline double hurwitz_zeta(double s, double q) {
  constexpr int kTerms = 10;
  constexpr double kBernoulli[] = {1. / 6,       -1. / 30,      1. / 42, -1. / 30,
                                   5. / 66,      -691. / 2730,  7. / 6,  -3617. / 510,
                                   43867. / 798, -174611. / 330};
  double sum = 0;
  for (int k = 0; k < kTerms; ++k) sum += ::pow(q + k, -s);
  const double w = q + kTerms;
  const double power = ::pow(w, -s);
  sum += power * w / (s - 1) + 0.5 * power;
  double factor = s * power / w, factorial = 2;
  for (int k = 1; k <= 10; ++k) {
    const double term = kBernoulli[k - 1] * factor / factorial;
    sum += term;
    if (::fabs(term) < 1e-17 * ::fabs(sum)) break;
    factor *= (s + 2 * k - 1) * (s + 2 * k) / (w * w);
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return sum;
}

/// n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x); trigamma is reflected for x <= 0.
inline double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (x != x) return x;
  if (x <= 0) {
    if (x == ::trunc(x)) {
      const double pole = std::numeric_limits<double>::infinity();
      return n % 2 == 0 ? -pole : pole;
    }
    // Shift up: psi_n(x) = psi_n(x + m) - (-1)^n n! sum_k 1 / (x + k)^(n + 1)
    if (n == 1) {
      const double sine = ::sin(3.141592653589793 * (x - ::trunc(x)));
      return -polygamma(1, 1 - x) + 9.869604401089358 / (sine * sine);
    }
    double sum = 0, shifted = x;
    for (; shifted <= 0; ++shifted) sum += ::pow(shifted, -static_cast<double>(n + 1));
    const double sign = n % 2 == 0 ? -1 : 1;
    return polygamma(n, shifted) + sign * ::tgamma(static_cast<double>(n + 1)) * sum;
  }
  if (x > std::numeric_limits<double>::max()) return 0;
  const double sign = n % 2 == 0 ? -1 : 1;
  return sign * ::tgamma(static_cast<double>(n + 1)) * hurwitz_zeta(static_cast<double>(n + 1), x);
}
inline float polygamma(int64_t n, float x) {
  return static_cast<float>(polygamma(n, static_cast<double>(x)));
}

/// Starts from Winitzki's approximation (relative error 2e-3) and takes two Halley steps on
/// erfc for the tails, erf elsewhere.
inline double erfinv(double x) {
  const double magnitude = ::fabs(x);
  if (!(magnitude < 1)) {
    return magnitude == 1 ? ::copysign(std::numeric_limits<double>::infinity(), x)
                          : std::numeric_limits<double>::quiet_NaN();
  }
  if (magnitude == 0) return x;
  constexpr double kA = 0.147, kTwoOverSqrtPi = 1.1283791670955126;
  const double rest = 1 - magnitude;  // exact: magnitude >= 0.5, or else not used in the tail
  const double logarithm = magnitude < 0.5 ? ::log1p(-x * x) : ::log(rest * (1 + magnitude));
  const double half = 2 / (3.141592653589793 * kA) + logarithm / 2;
  double y = ::sqrt(::sqrt(half * half - logarithm / kA) - half);
  // Tiny arguments: the difference above has no digits left.
  if (magnitude < 1e-3) y = magnitude / kTwoOverSqrtPi;
  for (int step = 0; step < 3; ++step) {
    const double error = magnitude < 0.5 ? ::erf(y) - magnitude : rest - ::erfc(y);
    const double newton = error / (kTwoOverSqrtPi * ::exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return ::copysign(y, x);
}
inline float erfinv(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }

#define FLAMBEAU_OF_INTEGER(name) \
  inline double name(Integer auto x) { return name(static_cast<double>(x)); }
FLAMBEAU_OF_INTEGER(lgamma)
FLAMBEAU_OF_INTEGER(digamma)
FLAMBEAU_OF_INTEGER(erfinv)
#undef FLAMBEAU_OF_INTEGER

}  // namespace flambeau::cpu::FLAMBEAU_ISA::math
