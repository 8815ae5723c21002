#pragma once

/// Exponentials and the hyperbolic functions.

#include "cpu/elementary/parts.h"

namespace FLAMBEAU_MATH {
namespace detail {

inline constexpr float kHalfOfLeast = 0x1p-86f;  // of the least positive float, times 2^64

/// round(x) + kRounder for a small x, as it is and as the exponent bits of 2^round(x).
struct Rounded {
  float shifted;
  FLAMBEAU_INLINE float whole() const { return shifted - kRounder; }
  FLAMBEAU_INLINE uint32_t exponent() const { return std::bit_cast<uint32_t>(shifted) << 23; }
};

/// 2^n from the exponent bits of n in [-126, 127].
FLAMBEAU_INLINE float power_of_two(uint32_t exponent) {
  return std::bit_cast<float>(exponent + (127u << 23));
}

/// mantissa * 2^n for n in [-190, 128]: in two factors, of which the second has the sign of n, so
/// that results below the normal range are rounded once. Those below all others are products of an
/// exact 0, as processors take long for one that is rounded to 0: by a mask, for compilers
/// choose after the product where the second factor is known. A NaN passes.
FLAMBEAU_INLINE float scaled(float mantissa, Rounded n, bool grows) {
  const uint32_t offset = grows ? 1u << 23 : static_cast<uint32_t>(-(64 << 23));
  const float second = grows ? 2.f : 0x1p-64f;
  const float first = mantissa * power_of_two(n.exponent() - offset);
  const uint32_t kept = static_cast<uint32_t>(first <= kHalfOfLeast) - 1;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(first) & kept) * second;
}

/// e^x = e^r 2^n for |x| below 2^22 or so: n = round(x / ln 2), r = x - n ln 2 in two parts.
FLAMBEAU_INLINE float reduced(float x, Rounded& n) {
  n = Rounded{multiply_add(x, 1.44269504f, kRounder)};
  const float whole = n.whole();
  return multiply_add(whole, 2.12194440e-4f, multiply_add(whole, -0.693359375f, x));
}

/// (e^r - 1 - r) / r^2 by a minimax polynomial (relative error 1e-8 of e^r on |r| <= 0.35).
FLAMBEAU_INLINE float exp_rest(float r) {
  return polynomial(r, 1.390153073e-3f, 8.363739846e-3f, 4.166686097e-2f, 1.666657369e-1f,
                    0.4999999953f);
}

/// e^x = mantissa * 2^n.
FLAMBEAU_INLINE float exp_parts(float x, Rounded& n) {
  const float r = reduced(x, n);
  return polynomial(r, exp_rest(r), 1.f, 1.f);
}

/// The same of doubles.
struct WideRounded {
  double shifted;
  FLAMBEAU_INLINE double whole() const { return shifted - kWideRounder; }
  FLAMBEAU_INLINE uint64_t exponent() const { return std::bit_cast<uint64_t>(shifted) << 52; }
};
FLAMBEAU_INLINE double power_of_two(uint64_t exponent) {
  return std::bit_cast<double>(exponent + (1023ull << 52));
}

/// mantissa * 2^n for n in [-1150, 1024] with the sign of x; exactly 0 below `low`, as processors
/// take long for a product that is rounded to 0. By the sign's bit: comparisons of one number with
/// several become a tangle of masks.
FLAMBEAU_INLINE double scaled(double mantissa, WideRounded n, double x, double low) {
  const uint64_t shrinks = (0 - (std::bit_cast<uint64_t>(x) >> 63)) & (uint64_t(129) << 52);
  const double power = std::bit_cast<double>(n.exponent() + (uint64_t(1022) << 52) + shrinks);
  const double second = std::bit_cast<double>((uint64_t(1024) << 52) - shrinks);
  return (x < low ? 0. : mantissa) * power * second;
}

FLAMBEAU_INLINE double reduced(double x, WideRounded& n) {
  n = WideRounded{multiply_add(x, 1.4426950408889634, kWideRounder)};
  const double whole = n.whole();
  return multiply_add(whole, -1.9082149292705877e-10, multiply_add(whole, -0.6931471803691238, x));
}

/// Relative error 4e-18 of e^r on |r| < 0.3473. In parts that do not wait for each other.
FLAMBEAU_INLINE double exp_rest(double r) {
  const double z = r * r;
  const double odd = polynomial(z, 2.4999854689969734e-08, 2.7557588431264318e-06,
                                1.9841269502731724e-04, 8.333333333496926e-03, 0.16666666666666408);
  const double even = polynomial(z, 2.763052339124291e-07, 2.4801492388553123e-05,
                                 1.3888888944248886e-03, 4.166666666652811e-02, 0.5000000000000011);
  return multiply_add(r, odd, even);
}
FLAMBEAU_INLINE double exp_parts(double x, WideRounded& n) {
  const double r = reduced(x, n);
  return polynomial(r, exp_rest(r), 1., 1.);
}

/// e^x within 1 ULP. Vectors of the C library take numbers without a normal result, which masks
/// are made of, one by one.
FLAMBEAU_INLINE double wide_exp(double given) {
  WideRounded n;
  const double mantissa = exp_parts(clamped(given, kWideExpBounds), n);
  return scaled(mantissa, n, given, kWideExpBounds.low);
}

template <class T>
using RoundedOf = std::conditional_t<sizeof(T) == 4, Rounded, WideRounded>;

/// (e^x - 1) 2^-k for a k in [0, 2]: e^x - 1 = 2^n (e^r - 1) + (2^n - 1) loses nothing near 0.
template <class T>
FLAMBEAU_INLINE T less_one(T x, typename Format<T>::Bits k) {
  RoundedOf<T> n;
  const T r = reduced(x, n), value = multiply_add(r * r, exp_rest(r), r);
  const T power = power_of_two(n.exponent() - (k << Format<T>::kDigits));
  return multiply_add(power, value, power - power_of_two(-(k << Format<T>::kDigits)));
}

/// Results that overflow do so in the last step. Numbers whose half may lose digits are their own.
template <class T, class Limits>
FLAMBEAU_INLINE T expm1_of(T x, const Limits& bounds) {
  const T value = less_one<T>(clamped(x, bounds), 1) * 2;
  return magnitude(x) < T(1e-30) ? x : value;
}

/// With h = (e^|x| - 1) / 2: h + h / (2 h + 1).
template <class T, class Limits>
FLAMBEAU_INLINE T sinh_of(T given, const Limits& bounds) {
  const T x = clamped(magnitude(given), bounds), half = less_one<T>(x, 2) * 2;
  const T value = half < Format<T>::kWhole * 64 ? half + half / (2 * half + 1) : half;
  return with_sign(x < T(1e-10) ? x : value, given);
}

/// With h = e^|x| / 2: h + 1 / (4 h).
template <class T, class Limits>
FLAMBEAU_INLINE T cosh_of(T given, const Limits& bounds) {
  RoundedOf<T> n;
  const T mantissa = exp_parts(clamped(magnitude(given), bounds), n);
  const T half = mantissa *
                 power_of_two(n.exponent() - (typename Format<T>::Bits(2) << Format<T>::kDigits)) *
                 2;
  return half + T(0.25) / half;
}

}  // namespace detail

/// Within 1.1 ULP, subnormal results included.
FLAMBEAU_INLINE float exp(float x) {
  x = detail::clamped(x, kExpBounds);
  detail::Rounded n;
  const float mantissa = detail::exp_parts(x, n);
  return detail::scaled(mantissa, n, x > 0.f);
}
#ifdef __AVX512F__
FLAMBEAU_INLINE double exp(double x) { return detail::wide_exp(x); }
#else
FLAMBEAU_INLINE double exp(double x) { return ::exp(x); }  // its tables are faster
#endif

FLAMBEAU_INLINE float exp2(float x) {
  x = detail::clamped(x, kExp2Bounds);
  const detail::Rounded n{x + detail::kRounder};
  const float mantissa =
      detail::polynomial(x - n.whole(), 1.540350312e-4f, 1.339188429e-3f, 9.618241923e-3f,
                         5.550355268e-2f, 2.402264974e-1f, 6.931471884e-1f, 1.f);
  return detail::scaled(mantissa, n, x > 0.f);
}

/// 1 / (1 + e^-x). Results below the normal range become 0.
FLAMBEAU_INLINE float sigmoid(float x) {
  const float y = detail::clamped(-x, kSigmoidBounds);
  detail::Rounded n;
  const float mantissa = detail::exp_parts(y, n);
  return 1.f / detail::multiply_add(mantissa, detail::power_of_two(n.exponent()), 1.f);
}

/// (e^2x - 1) / (e^2x + 1), where e^2x - 1 = 2^n (e^r - 1) + (2^n - 1) loses nothing near 0. Within
/// 2.9 ULP.
FLAMBEAU_INLINE float tanh(float x) {
  const float y = detail::clamped(x, kTanhBounds);
  detail::Rounded n;
  const float r = detail::reduced(y + y, n);
  const float less_one = detail::multiply_add(r * r, detail::exp_rest(r), r);
  const float power = detail::power_of_two(n.exponent());
  return __builtin_copysignf(detail::multiply_add(power, less_one, power - 1.f) /
                                 detail::multiply_add(power, less_one, power + 1.f),
                             x);
}

FLAMBEAU_INLINE double tanh(double x) {
  const double y = detail::clamped(x, kWideTanhBounds), less = detail::less_one(y + y, 0);
  return __builtin_copysign(less / (less + 2), x);
}

FLAMBEAU_INLINE double exp2(double given) {
  const double x = detail::clamped(given, kWideExp2Bounds);
  const detail::WideRounded n{x + detail::kWideRounder};
  const double r = (x - n.whole()) * 0.6931471805599453;
  const double mantissa = detail::polynomial(r, detail::exp_rest(r), 1., 1.);
  return detail::scaled(mantissa, n, given, kWideExp2Bounds.low);
}

/// Within 2 ULP.
FLAMBEAU_INLINE float expm1(float x) { return detail::expm1_of(x, kExpm1Bounds); }
FLAMBEAU_INLINE double expm1(double x) { return detail::expm1_of(x, kWideExpm1Bounds); }
FLAMBEAU_INLINE float sinh(float x) { return detail::sinh_of(x, kSinhBounds); }
FLAMBEAU_INLINE double sinh(double x) { return detail::sinh_of(x, kWideSinhBounds); }
FLAMBEAU_INLINE float cosh(float x) { return detail::cosh_of(x, kSinhBounds); }
FLAMBEAU_INLINE double cosh(double x) { return detail::cosh_of(x, kWideSinhBounds); }

}  // namespace FLAMBEAU_MATH
