#pragma once

/// The functions of math.cuh on complex numbers. Inverse functions and tanh follow W. Kahan,
/// "Branch cuts for complex elementary functions", 1987. Included by math.cuh.

namespace flambeau::cuda::math {

#define FLAMBEAU_COMPLEX \
  template <class T>     \
  FLAMBEAU_CALLED complex<T>

namespace detail {
template <class T>
FLAMBEAU_SHARED complex<T> times_i(complex<T> x) {
  return {-x.im, x.re};
}
template <class T>
FLAMBEAU_SHARED complex<T> over_i(complex<T> x) {
  return {x.im, -x.re};
}
/// The exponent of the largest finite number, as an argument of exp, and of the smallest difference
/// from 1.
template <class T>
inline constexpr T kLargestExponent = sizeof(T) == 4 ? T(88) : T(709);
template <class T>
inline constexpr T kFlatTanh = sizeof(T) == 4 ? T(11) : T(22);
}  // namespace detail

template <class T>
FLAMBEAU_SHARED T abs(complex<T> x) {
  return hypot(x.re, x.im);
}
template <class T>
FLAMBEAU_SHARED bool isnan(complex<T> x) {
  return isnan(x.re) || isnan(x.im);
}
template <class T>
FLAMBEAU_SHARED bool isinf(complex<T> x) {
  return isinf(x.re) || isinf(x.im);
}
template <class T>
FLAMBEAU_SHARED bool isfinite(complex<T> x) {
  return isfinite(x.re) && isfinite(x.im);
}
template <class T>
FLAMBEAU_SHARED complex<T> conj(complex<T> x) {
  return {x.re, -x.im};
}
template <class T>
FLAMBEAU_SHARED T real(complex<T> x) {
  return x.re;
}
template <class T>
FLAMBEAU_SHARED T imag(complex<T> x) {
  return x.im;
}
template <class T>
FLAMBEAU_SHARED T angle(complex<T> x) {
  return atan2(x.im, x.re);
}
/// x / |x|, 0 for 0.
FLAMBEAU_COMPLEX sign(complex<T> x) {
  const T modulus = abs(x);
  return modulus == 0 ? complex<T>(0) : complex<T>(x.re / modulus, x.im / modulus);
}

FLAMBEAU_COMPLEX exp(complex<T> x) {
  if (x.im == 0) return {exp(x.re), x.im};
  if (x.re == lowest<T>()) return {0, 0};
  const T cosine = cos(x.im), sine = sin(x.im);
  if (x.re > detail::kLargestExponent<T> && isfinite(x.re)) {
    // e^re may overflow where the product does not.
    const T root = exp(x.re / 2);
    return {root * cosine * root, root * sine * root};
  }
  const T modulus = exp(x.re);
  return {modulus * cosine, modulus * sine};
}
/// e^x - 1 = (expm1(a) cos b - 2 sin^2(b/2)) + i e^a sin b
FLAMBEAU_COMPLEX expm1(complex<T> x) {
  const T half = sin(x.im / 2);
  return {expm1(x.re) * cos(x.im) - 2 * half * half, exp(x.re) * sin(x.im)};
}
/// log|x| from log1p where |x| is near 1, so that it keeps its digits.
FLAMBEAU_COMPLEX log(complex<T> x) {
  const T a = abs(x.re), b = abs(x.im), large = a > b ? a : b, small = a > b ? b : a;
  const T modulus = hypot(x.re, x.im);
  const T logarithm = modulus > T(0.5) && modulus < T(2)
                          ? log1p((large - 1) * (large + 1) + small * small) / 2
                          : log(modulus);
  return {logarithm, atan2(x.im, x.re)};
}
FLAMBEAU_COMPLEX log1p(complex<T> x) {
  const T modulus = x.re * (2 + x.re) + x.im * x.im;
  const bool is_small = abs(x.re) < T(0.5) && abs(x.im) < T(0.5);
  return {is_small ? log1p(modulus) / 2 : log(hypot(1 + x.re, x.im)), atan2(x.im, 1 + x.re)};
}
FLAMBEAU_COMPLEX exp2(complex<T> x) { return exp(x * complex<T>(T(0.6931471805599453))); }
FLAMBEAU_COMPLEX log2(complex<T> x) { return log(x) * complex<T>(T(1.4426950408889634)); }
FLAMBEAU_COMPLEX log10(complex<T> x) { return log(x) * complex<T>(T(0.4342944819032518)); }

FLAMBEAU_COMPLEX sqrt(complex<T> x) {
  if (x.re == 0 && x.im == 0) return {0, x.im};
  if (isinf(x.im)) return {highest<T>(), x.im};
  if (isinf(x.re)) {
    if (x.re > 0) return {x.re, isnan(x.im) ? x.im : copysign(T(0), x.im)};
    return {isnan(x.im) ? x.im : T(0), copysign(highest<T>(), x.im)};
  }
  // By a quarter: the modulus of a large number must not overflow. Half of the root is lost again.
  const T re = x.re / 4, im = x.im / 4;
  const T root = sqrt((abs(re) + hypot(re, im)) / 2);
  if (root == 0) return {sqrt(abs(x.re)), x.im};  // the smallest subnormal numbers
  if (x.re >= 0) return {2 * root, im / root};
  return {abs(im) / root, copysign(2 * root, x.im)};
}
FLAMBEAU_COMPLEX rsqrt(complex<T> x) { return complex<T>(1) / sqrt(x); }

FLAMBEAU_COMPLEX sinh(complex<T> x) {
  if (x.im == 0) return {sinh(x.re), x.im};
  return {sinh(x.re) * cos(x.im), cosh(x.re) * sin(x.im)};
}
FLAMBEAU_COMPLEX cosh(complex<T> x) {
  if (x.im == 0) return {cosh(x.re), x.re == 0 || isinf(x.re) ? x.im : sinh(x.re) * x.im};
  return {cosh(x.re) * cos(x.im), sinh(x.re) * sin(x.im)};
}
FLAMBEAU_COMPLEX tanh(complex<T> x) {
  if (abs(x.re) > detail::kFlatTanh<T>) {
    const T flat = isfinite(x.im) ? 4 * sin(x.im) * cos(x.im) * exp(-2 * abs(x.re)) : T(0);
    return {copysign(T(1), x.re), flat};
  }
  const T tangent = tan(x.im), sine = sinh(x.re);
  const T beta = 1 + tangent * tangent, rho = sqrt(1 + sine * sine);
  if (isinf(tangent)) return {rho / sine, 1 / tangent};
  const T divisor = 1 + beta * sine * sine;
  return {beta * rho * sine / divisor, tangent / divisor};
}
FLAMBEAU_COMPLEX sin(complex<T> x) { return detail::over_i(sinh(detail::times_i(x))); }
FLAMBEAU_COMPLEX cos(complex<T> x) { return cosh(detail::times_i(x)); }
FLAMBEAU_COMPLEX tan(complex<T> x) { return detail::over_i(tanh(detail::times_i(x))); }

FLAMBEAU_COMPLEX asin(complex<T> x) {
  // 1 - x is written out: the sign of a zero imaginary part picks the side of the branch cut.
  const complex<T> minus = sqrt(complex<T>(1 - x.re, -x.im)),
                   plus = sqrt(complex<T>(1 + x.re, x.im));
  return {atan2(x.re, minus.re * plus.re - minus.im * plus.im),
          asinh(minus.re * plus.im - minus.im * plus.re)};
}
FLAMBEAU_COMPLEX acos(complex<T> x) {
  const complex<T> minus = sqrt(complex<T>(1 - x.re, -x.im)),
                   plus = sqrt(complex<T>(1 + x.re, x.im));
  return {2 * atan2(minus.re, plus.re), asinh(plus.re * minus.im - plus.im * minus.re)};
}
FLAMBEAU_COMPLEX acosh(complex<T> x) {
  const complex<T> minus = sqrt(complex<T>(x.re - 1, x.im)),
                   plus = sqrt(complex<T>(x.re + 1, x.im));
  return {asinh(minus.re * plus.re + minus.im * plus.im), 2 * atan2(minus.im, plus.re)};
}
FLAMBEAU_COMPLEX atanh(complex<T> x) {
  if (isinf(x)) return {copysign(T(0), x.re), copysign(T(1.5707963267948966), x.im)};
  const T distance = (1 - x.re) * (1 - x.re) + x.im * x.im;
  return {log1p(4 * x.re / distance) / 4,
          atan2(2 * x.im, (1 - x.re) * (1 + x.re) - x.im * x.im) / 2};
}
FLAMBEAU_COMPLEX asinh(complex<T> x) { return detail::over_i(asin(detail::times_i(x))); }
FLAMBEAU_COMPLEX atan(complex<T> x) { return detail::over_i(atanh(detail::times_i(x))); }

FLAMBEAU_COMPLEX sigmoid(complex<T> x) { return complex<T>(1) / (complex<T>(1) + exp(-x)); }
FLAMBEAU_COMPLEX pow(complex<T> a, complex<T> b) {
  if (b.re == 0 && b.im == 0) return complex<T>(1);
  if (a.re == 0 && a.im == 0 && b.re > 0) return complex<T>(0);
  return exp(b * log(a));
}

#undef FLAMBEAU_COMPLEX

}  // namespace flambeau::cuda::math
