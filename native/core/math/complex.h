#pragma once

/// The functions of elementary.h on complex numbers. Inverse functions and tanh follow W. Kahan,
/// "Branch cuts for complex elementary functions", 1987.

#include "core/math/elementary.h"

namespace FLAMBEAU_MATH {

#define FLAMBEAU_COMPLEX \
  template <class T>     \
  FLAMBEAU_DEAR complex<T>

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
FLAMBEAU_SHORT complex<T> scaled(complex<T> x, T factor) {
  return {x.re * factor, x.im * factor};
}

/// Where functions change their form.
template <class T>
struct Range {
  static constexpr bool is_float = sizeof(T) == 4;
  static constexpr T largest_exponent = is_float ? T(88) : T(709);  // of a finite exp
  static constexpr T flat_tanh = is_float ? T(11) : T(22);          // 1 up to rounding from here
  static constexpr T large = is_float ? T(0x1p24) : T(0x1p53);      // 1 vanishes beside it
  static constexpr T tiny = is_float ? T(0x1p-100) : T(0x1p-960);   // few digits below it
  static constexpr T up = is_float ? T(0x1p60) : T(0x1p200);        // brings them back
  static constexpr T root_of_up = is_float ? T(0x1p30) : T(0x1p100);
  static constexpr T log_up = is_float ? T(41.58883083359672) : T(138.62943611198907);
};

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
template <class T>
FLAMBEAU_SHORT bool is_large(complex<T> x) {
  return hypot(x.re, x.im) > Range<T>::large;
}

}  // namespace detail

template <class T>
FLAMBEAU_SHORT T abs(complex<T> x) {
  return hypot(x.re, x.im);
}
template <class T>
FLAMBEAU_SHORT bool isnan(complex<T> x) {
  return isnan(x.re) || isnan(x.im);
}
template <class T>
FLAMBEAU_SHORT bool isinf(complex<T> x) {
  return isinf(x.re) || isinf(x.im);
}
template <class T>
FLAMBEAU_SHORT bool isfinite(complex<T> x) {
  return isfinite(x.re) && isfinite(x.im);
}
template <class T>
FLAMBEAU_SHORT complex<T> conj(complex<T> x) {
  return {x.re, -x.im};
}
/// A real factor leaves infinite parts apart, which a product of complex numbers adds up to NaN.
template <class T>
FLAMBEAU_SHORT complex<T> scaled(complex<T> factor, complex<T> x) {
  return factor.im == 0 ? detail::scaled(x, factor.re) : factor * x;
}
template <class T>
FLAMBEAU_SHORT T real(complex<T> x) {
  return x.re;
}
template <class T>
FLAMBEAU_SHORT T imag(complex<T> x) {
  return x.im;
}
template <class T>
FLAMBEAU_SHORT T angle(complex<T> x) {
  return atan2(x.im, x.re);
}
/// x / |x|, 0 for 0.
FLAMBEAU_COMPLEX sign(complex<T> x) {
  const T modulus = abs(x);
  return modulus == 0 ? complex<T>(0) : complex<T>(x.re / modulus, x.im / modulus);
}

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

FLAMBEAU_COMPLEX sqrt(complex<T> x) {
  using Range = detail::Range<T>;
  if (x.re == 0 && x.im == 0) return {0, x.im};
  if (isinf(x.im)) return {highest<T>(), x.im};
  if (isinf(x.re)) {
    if (x.re > 0) return {x.re, isnan(x.im) ? x.im : copysign(T(0), x.im)};
    return {isnan(x.im) ? x.im : T(0), copysign(highest<T>(), x.im)};
  }
  // By a quarter: the modulus of a large number must not overflow. Half of the root is lost again.
  const bool is_tiny = abs(x.re) < Range::tiny && abs(x.im) < Range::tiny;
  const T factor = is_tiny ? Range::up : T(0.25);
  const T re = x.re * factor, im = x.im * factor;
  const T root = sqrt((abs(re) + hypot(re, im)) / 2);
  const T other = im / (2 * root), back = is_tiny ? 1 / Range::root_of_up : T(2);
  if (x.re >= 0) return {root * back, other * back};
  return {abs(other) * back, copysign(root * back, x.im)};
}
FLAMBEAU_COMPLEX rsqrt(complex<T> x) { return complex<T>(1) / sqrt(x); }

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

FLAMBEAU_COMPLEX sigmoid(complex<T> x) { return complex<T>(1) / (complex<T>(1) + exp(-x)); }
FLAMBEAU_COMPLEX pow(complex<T> a, complex<T> b) {
  if (b.re == 0 && b.im == 0) return complex<T>(1);
  if (a.re == 0 && a.im == 0 && b.re > 0) return complex<T>(0);
  return exp(b * log(a));
}
/// The larger exponential, by its real part, is taken out.
FLAMBEAU_COMPLEX logaddexp(complex<T> a, complex<T> b) {
  const bool is_first = a.re >= b.re;
  const complex<T> large = is_first ? a : b, small = is_first ? b : a;
  return isinf(large.re) && small.re == large.re ? log(exp(a) + exp(b))
                                                 : large + log1p(exp(small - large));
}

#undef FLAMBEAU_COMPLEX

}  // namespace FLAMBEAU_MATH
