#pragma once

/// The functions of math.h on complex numbers; the C++ library does the work. Included by math.h.

#include <complex>

namespace flambeau::cpu::FLAMBEAU_ISA::math {
namespace detail {

template <class T>
FLAMBEAU_INLINE std::complex<T> standard(complex<T> x) {
  return {x.re, x.im};
}
template <class T>
FLAMBEAU_INLINE complex<T> own(const std::complex<T>& x) {
  return {x.real(), x.imag()};
}

}  // namespace detail

#define FLAMBEAU_COMPLEX_1(name)                        \
  template <class T>                                    \
  FLAMBEAU_INLINE complex<T> name(complex<T> x) {       \
    return detail::own(std::name(detail::standard(x))); \
  }
FLAMBEAU_COMPLEX_1(exp)
FLAMBEAU_COMPLEX_1(log)
FLAMBEAU_COMPLEX_1(log10)
FLAMBEAU_COMPLEX_1(sqrt)
FLAMBEAU_COMPLEX_1(sin)
FLAMBEAU_COMPLEX_1(cos)
FLAMBEAU_COMPLEX_1(tan)
FLAMBEAU_COMPLEX_1(asin)
FLAMBEAU_COMPLEX_1(acos)
FLAMBEAU_COMPLEX_1(atan)
FLAMBEAU_COMPLEX_1(sinh)
FLAMBEAU_COMPLEX_1(cosh)
FLAMBEAU_COMPLEX_1(tanh)
FLAMBEAU_COMPLEX_1(asinh)
FLAMBEAU_COMPLEX_1(acosh)
FLAMBEAU_COMPLEX_1(atanh)
#undef FLAMBEAU_COMPLEX_1

template <class T>
FLAMBEAU_INLINE complex<T> exp2(complex<T> x) {
  return exp(x * complex<T>(T(0.6931471805599453)));
}
template <class T>
FLAMBEAU_INLINE complex<T> log2(complex<T> x) {
  return log(x) * complex<T>(T(1.4426950408889634));
}
/// e^x - 1 = (expm1(a) cos b - 2 sin^2(b/2)) + i e^a sin b
template <class T>
FLAMBEAU_INLINE complex<T> expm1(complex<T> x) {
  const T half = sin(x.im / 2);
  return {expm1(x.re) * cos(x.im) - 2 * half * half, exp(x.re) * sin(x.im)};
}
/// log|1 + x| from log1p(2a + a^2 + b^2) / 2, so that small x keep their digits.
template <class T>
FLAMBEAU_INLINE complex<T> log1p(complex<T> x) {
  const T modulus = x.re * (2 + x.re) + x.im * x.im;
  const bool is_small = abs(x.re) < T(0.5) && abs(x.im) < T(0.5);
  return {is_small ? log1p(modulus) / 2 : log(hypot(1 + x.re, x.im)), atan2(x.im, 1 + x.re)};
}
template <class T>
FLAMBEAU_INLINE complex<T> rsqrt(complex<T> x) {
  return complex<T>(1) / sqrt(x);
}
template <class T>
FLAMBEAU_INLINE complex<T> sigmoid(complex<T> x) {
  return complex<T>(1) / (complex<T>(1) + exp(-x));
}
template <class T>
FLAMBEAU_INLINE complex<T> pow(complex<T> a, complex<T> b) {
  if (b.re == 0 && b.im == 0) return complex<T>(1);
  return detail::own(std::pow(detail::standard(a), detail::standard(b)));
}
template <class T>
FLAMBEAU_INLINE T abs(complex<T> x) {
  return hypot(x.re, x.im);
}
/// x / |x|, 0 for 0.
template <class T>
FLAMBEAU_INLINE complex<T> sign(complex<T> x) {
  const T modulus = abs(x);
  return modulus == 0 ? complex<T>(0) : complex<T>(x.re / modulus, x.im / modulus);
}
template <class T>
FLAMBEAU_INLINE bool isnan(complex<T> x) {
  return isnan(x.re) || isnan(x.im);
}
template <class T>
FLAMBEAU_INLINE bool isinf(complex<T> x) {
  return isinf(x.re) || isinf(x.im);
}
template <class T>
FLAMBEAU_INLINE bool isfinite(complex<T> x) {
  return isfinite(x.re) && isfinite(x.im);
}
template <class T>
FLAMBEAU_INLINE complex<T> conj(complex<T> x) {
  return {x.re, -x.im};
}
template <class T>
FLAMBEAU_INLINE T real(complex<T> x) {
  return x.re;
}
template <class T>
FLAMBEAU_INLINE T imag(complex<T> x) {
  return x.im;
}
template <class T>
FLAMBEAU_INLINE T angle(complex<T> x) {
  return atan2(x.im, x.re);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::math
