#pragma once

/// Trigonometric and hyperbolic functions. The room has those of reals. Inverse functions and tanh
/// of complex numbers follow W. Kahan, "Branch cuts for complex elementary functions", 1987.

#include "core/math/angles.h"
#include "core/math/powers.h"
#include FLAMBEAU_OWN(trigonometry)

namespace FLAMBEAU_MATH {

FLAMBEAU_OF_INTEGER(sin)
FLAMBEAU_OF_INTEGER(cos)
FLAMBEAU_OF_INTEGER(tan)
FLAMBEAU_OF_INTEGER(asin)
FLAMBEAU_OF_INTEGER(acos)
FLAMBEAU_OF_INTEGER(atan)
FLAMBEAU_OF_INTEGER(sinh)
FLAMBEAU_OF_INTEGER(cosh)
FLAMBEAU_OF_INTEGER(tanh)
FLAMBEAU_OF_INTEGER(asinh)
FLAMBEAU_OF_INTEGER(acosh)
FLAMBEAU_OF_INTEGER(atanh)
FLAMBEAU_OF_TWO(atan2)

/// 0 or pi; NaN for NaN.
template <Arithmetic T>
FLAMBEAU_SHORT auto angle(T x) {
  using R = std::conditional_t<Real<T>, T, double>;
  const R value = static_cast<R>(x);
  return value < 0 ? R(3.141592653589793) : value != value ? value : R(0);
}
template <class T>
FLAMBEAU_SHORT T angle(complex<T> x) {
  return atan2(x.im, x.re);
}

namespace detail {

template <class T>
FLAMBEAU_SHORT complex<T> times_i(complex<T> x) {
  return {-x.im, x.re};
}
template <class T>
FLAMBEAU_SHORT complex<T> over_i(complex<T> x) {
  return {x.im, -x.re};
}
template <class T>
FLAMBEAU_SHORT bool is_large(complex<T> x) {
  return hypot(x.re, x.im) > Range<T>::large;
}

}  // namespace detail

FLAMBEAU_COMPLEX sinh(complex<T> x) {
  if (x.im == 0) return {sinh(x.re), x.im};
  if (!isfinite(x.im) && (x.re == 0 || isinf(x.re))) return {x.re, x.im - x.im};
  const T cosine = cos(x.im), sine = sin(x.im);
  if (abs(x.re) > detail::Range<T>::largest_exponent) {
    const T root = exp(abs(x.re) / 2);
    return {copysign(T(0.5), x.re) * root * cosine * root, root / 2 * sine * root};
  }
  return {sinh(x.re) * cosine, cosh(x.re) * sine};
}
FLAMBEAU_COMPLEX cosh(complex<T> x) {
  if (x.im == 0) return {cosh(x.re), signbit(x.re) ? -x.im : x.im};
  if (!isfinite(x.im) && x.re == 0) return {x.im - x.im, x.re};
  if (!isfinite(x.im) && isinf(x.re)) return {highest<T>(), x.im - x.im};
  const T cosine = cos(x.im), sine = sin(x.im);
  if (abs(x.re) > detail::Range<T>::largest_exponent) {
    const T root = exp(abs(x.re) / 2);
    return {root / 2 * cosine * root, copysign(T(0.5), x.re) * root * sine * root};
  }
  return {cosh(x.re) * cosine, sinh(x.re) * sine};
}
FLAMBEAU_COMPLEX tanh(complex<T> x) {
  if (x.im == 0) return {tanh(x.re), x.im};
  if (!isfinite(x.im) && !isinf(x.re)) return {x.re == 0 ? x.re : x.im - x.im, x.im - x.im};
  if (abs(x.re) > detail::Range<T>::flat_tanh) {
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

// Far from 0, asin, acos and acosh are logarithms of 2x; on the imaginary axis they are asinh.

FLAMBEAU_COMPLEX asin(complex<T> x) {
  if (x.re == 0) return {x.re, asinh(x.im)};
  if (detail::is_large(x)) {
    const T far = detail::log_modulus(x) + T(0.6931471805599453);
    return {atan2(x.re, abs(x.im)), copysign(far, x.im)};
  }
  // 1 - x is written out: the sign of a zero imaginary part picks the side of the branch cut.
  const complex<T> minus = sqrt(complex<T>(1 - x.re, -x.im)),
                   plus = sqrt(complex<T>(1 + x.re, x.im));
  return {atan2(x.re, minus.re * plus.re - minus.im * plus.im),
          asinh(minus.re * plus.im - minus.im * plus.re)};
}
FLAMBEAU_COMPLEX acos(complex<T> x) {
  if (x.re == 0) return {T(1.5707963267948966), -asinh(x.im)};
  if (detail::is_large(x)) {
    const T far = detail::log_modulus(x) + T(0.6931471805599453);
    return {atan2(abs(x.im), x.re), -copysign(far, x.im)};
  }
  const complex<T> minus = sqrt(complex<T>(1 - x.re, -x.im)),
                   plus = sqrt(complex<T>(1 + x.re, x.im));
  return {2 * atan2(minus.re, plus.re), asinh(plus.re * minus.im - plus.im * minus.re)};
}
FLAMBEAU_COMPLEX acosh(complex<T> x) {
  if (x.re == 0) return {asinh(abs(x.im)), copysign(T(1.5707963267948966), x.im)};
  if (detail::is_large(x)) {
    return {detail::log_modulus(x) + T(0.6931471805599453), atan2(x.im, x.re)};
  }
  const complex<T> minus = sqrt(complex<T>(x.re - 1, x.im)),
                   plus = sqrt(complex<T>(x.re + 1, x.im));
  return {asinh(minus.re * plus.re + minus.im * plus.im), 2 * atan2(minus.im, plus.re)};
}
FLAMBEAU_COMPLEX atanh(complex<T> x) {
  constexpr T kQuarterTurn = T(1.5707963267948966);
  if (x.re == 0) return {x.re, atan(x.im)};
  if (detail::is_large(x)) {
    const T re = isinf(x) ? T(0) : (complex<T>(1) / x).re;
    return {copysign(re, x.re), isnan(x.im) ? x.im : copysign(kQuarterTurn, x.im)};
  }
  const T a = abs(x.re), b = abs(x.im), distance = (1 - a) * (1 - a) + b * b;
  // The square of a small distance from the pole has no digits.
  const T re = a == 1 && b < 1 / detail::Range<T>::large ? (T(0.6931471805599453) - log(b)) / 2
                                                         : log1p(4 * a / distance) / 4;
  return {copysign(re, x.re), atan2(2 * x.im, (1 - a) * (1 + a) - b * b) / 2};
}
FLAMBEAU_COMPLEX asinh(complex<T> x) { return detail::over_i(asin(detail::times_i(x))); }
FLAMBEAU_COMPLEX atan(complex<T> x) { return detail::over_i(atanh(detail::times_i(x))); }

}  // namespace FLAMBEAU_MATH
