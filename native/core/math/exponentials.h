#pragma once

/// Exponentials and logarithms. The room has those of reals, and sigmoid of float.

#include "core/math/angles.h"
#include "core/math/numbers.h"
#include "core/math/signs.h"
#include FLAMBEAU_OWN(exponentials)

namespace FLAMBEAU_MATH {

FLAMBEAU_OF_INTEGER(exp)
FLAMBEAU_OF_INTEGER(exp2)
FLAMBEAU_OF_INTEGER(expm1)
FLAMBEAU_OF_INTEGER(log)
FLAMBEAU_OF_INTEGER(log2)
FLAMBEAU_OF_INTEGER(log10)
FLAMBEAU_OF_INTEGER(log1p)

/// 1 / (1 + e^-x)
FLAMBEAU_SHORT double sigmoid(double x) { return 1 / (1 + exp(-x)); }
FLAMBEAU_SHORT double sigmoid(Integer auto x) { return sigmoid(static_cast<double>(x)); }

template <Real T>
FLAMBEAU_SHORT T logaddexp(T a, T b) {
  const T large = a > b ? a : b;  // a NaN is in the difference, too
  const T sum = large + log1p(exp(-abs(a - b)));
  return a == b && isinf(a) ? a : sum;  // inf - inf
}
template <Real T>
FLAMBEAU_SHORT T logaddexp2(T a, T b) {
  const T large = a > b ? a : b;  // a NaN is in the difference, too
  const T sum = large + log1p(exp2(-abs(a - b))) * T(1.4426950408889634);
  return a == b && isinf(a) ? a : sum;
}
template <Real T>
FLAMBEAU_SHORT T xlogy(T a, T b) {
  const T product = a * log(b);
  return (a == 0) & (b == b) ? T(0) : product;
}
template <Real T>
FLAMBEAU_SHORT T xlog1py(T a, T b) {
  const T product = a * log1p(b);
  return (a == 0) & (b == b) ? T(0) : product;
}

namespace detail {

/// log |x|, from log1p where |x| is near 1, so that it keeps its digits.
template <class T>
FLAMBEAU_DEAR T log_modulus(complex<T> x) {
  const T a = abs(x.re), b = abs(x.im), large = a > b ? a : b, small = a > b ? b : a;
  if (large < Range<T>::tiny) {
    return log(hypot(a * Range<T>::up, b * Range<T>::up)) - Range<T>::log_up;
  }
  // By a quarter: the modulus of a large number must not overflow.
  if (large > Range<T>::large) return log(hypot(a / 4, b / 4)) + T(1.3862943611198906);
  const T modulus = hypot(a, b);
  return modulus > T(0.5) && modulus < T(2) ? log1p((large - 1) * (large + 1) + small * small) / 2
                                            : log(modulus);
}

}  // namespace detail

FLAMBEAU_COMPLEX exp(complex<T> x) {
  if (x.im == 0) return {exp(x.re), x.im};
  if (isinf(x.re) && !isfinite(x.im)) {
    if (x.re < 0) return {0, copysign(T(0), x.im)};
    return {x.re, x.im - x.im};
  }
  const T cosine = cos(x.im), sine = sin(x.im);
  if (x.re > detail::Range<T>::largest_exponent) {
    // e^re may overflow where the product does not.
    const T root = exp(x.re / 2);
    return {root * cosine * root, root * sine * root};
  }
  const T modulus = exp(x.re);
  return {modulus * cosine, modulus * sine};
}
FLAMBEAU_COMPLEX exp2(complex<T> x) { return exp(detail::scaled(x, T(0.6931471805599453))); }
/// e^x - 1 = (expm1(a) cos b - 2 sin^2(b/2)) + i e^a sin b
FLAMBEAU_COMPLEX expm1(complex<T> x) {
  const T half = sin(x.im / 2);
  return {expm1(x.re) * cos(x.im) - 2 * half * half, exp(x.re) * sin(x.im)};
}

FLAMBEAU_COMPLEX log(complex<T> x) { return {detail::log_modulus(x), atan2(x.im, x.re)}; }
FLAMBEAU_COMPLEX log2(complex<T> x) { return detail::scaled(log(x), T(1.4426950408889634)); }
FLAMBEAU_COMPLEX log10(complex<T> x) { return detail::scaled(log(x), T(0.4342944819032518)); }
/// log|1 + x| from log1p(2a + a^2 + b^2) / 2, so that small x keep their digits.
FLAMBEAU_COMPLEX log1p(complex<T> x) {
  const T modulus = x.re * (2 + x.re) + x.im * x.im;
  const bool is_small = abs(x.re) < T(0.5) && abs(x.im) < T(0.5);
  return {is_small ? log1p(modulus) / 2 : log(hypot(1 + x.re, x.im)), atan2(x.im, 1 + x.re)};
}

FLAMBEAU_COMPLEX sigmoid(complex<T> x) { return complex<T>(1) / (complex<T>(1) + exp(-x)); }
/// The larger exponential, by its real part, is taken out.
FLAMBEAU_COMPLEX logaddexp(complex<T> a, complex<T> b) {
  const bool is_first = a.re >= b.re;
  const complex<T> large = is_first ? a : b, small = is_first ? b : a;
  return isinf(large.re) && small.re == large.re ? log(exp(a) + exp(b))
                                                 : large + log1p(exp(small - large));
}

}  // namespace FLAMBEAU_MATH
