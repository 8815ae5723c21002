#pragma once

/// The scalar functions that generated formulas call, one set per instruction set: those of
/// core/math/, with float forms of some that vectorise better than the C library's.

#include <bit>
#include <concepts>
#include <cstdint>

#include "core/element_types.h"
#include "core/error.h"
#include "cpu/math_bounds.h"
#include "cpu/vector_functions.h"

#define FLAMBEAU_MATH flambeau::cpu::FLAMBEAU_ISA::math
#define FLAMBEAU_SHORT FLAMBEAU_INLINE
#define FLAMBEAU_DEAR FLAMBEAU_INLINE
#define FLAMBEAU_LONG inline

namespace FLAMBEAU_MATH {

namespace detail {

/// Division of integers by zero is an error.
template <class T>
[[noreturn]] T zero_divisor(const char* function) {
  fail(ErrorKind::runtime, function, ": division by zero");
}

FLAMBEAU_INLINE float clamped(float x, const Bounds& bounds) {
  x = x < bounds.low ? bounds.low : x;
  return x > bounds.high ? bounds.high : x;
}

/// 1.5 * 2^23: adding it rounds a float of magnitude below 2^22 to an integer, kept in the low
/// bits.
inline constexpr float kRounder = 12582912.f;

/// a b + c for polynomials, in one step where the instruction set has one.
FLAMBEAU_INLINE float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// first x^n + ... + last, for a call with n + 1 coefficients.
FLAMBEAU_INLINE float polynomial(float, float last) { return last; }
template <std::same_as<float>... More>
FLAMBEAU_INLINE float polynomial(float x, float first, float next, More... rest) {
  return polynomial(x, multiply_add(first, x, next), rest...);
}

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
/// that results below the normal range are rounded once. A NaN passes.
FLAMBEAU_INLINE float scaled(float mantissa, Rounded n, bool grows) {
  const uint32_t offset = grows ? 1u << 23 : static_cast<uint32_t>(-(64 << 23));
  const float second = grows ? 2.f : 0x1p-64f;
  return mantissa * power_of_two(n.exponent() - offset) * second;
}

/// e^x = mantissa * 2^n for |x| below 2^22 or so. n = round(x / ln 2), r = x - n ln 2 in two parts,
/// e^r by a minimax polynomial (relative error 1e-8 on |r| <= 0.35).
FLAMBEAU_INLINE float exp_parts(float x, Rounded& n) {
  n = Rounded{multiply_add(x, 1.44269504f, kRounder)};
  const float whole = n.whole();
  const float r = multiply_add(whole, 2.12194440e-4f, multiply_add(whole, -0.693359375f, x));
  return polynomial(r, 1.390153073e-3f, 8.363739846e-3f, 4.166686097e-2f, 1.666657369e-1f,
                    0.4999999953f, 1.f, 1.f);
}

}  // namespace detail

/// Within 1.1 ULP, subnormal results included.
FLAMBEAU_INLINE float exp(float x) {
  x = detail::clamped(x, kExpBounds);
  detail::Rounded n;
  const float mantissa = detail::exp_parts(x, n);
  return detail::scaled(mantissa, n, x > 0.f);
}

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

/// x P(x^2) / Q(x^2), a minimax fit of relative error 2e-8 up to where the result rounds to 1.
FLAMBEAU_INLINE float erf(float x) {
  const float y = detail::clamped(x, kErfBounds);
  const float z = y * y;
  const float p = detail::polynomial(z, 2.0418722215254093e-06f, 2.8478886815719306e-04f,
                                     3.7792553193867207e-03f, 5.278918147087097e-02f,
                                     1.9077719748020172e-01f, 1.1283791065216064f);
  const float q = detail::polynomial(z, 3.8002010114723817e-05f, 1.1651043314486742e-03f,
                                     1.499674841761589e-02f, 1.1425457149744034e-01f,
                                     5.024046301841736e-01f, 1.f);
  return detail::clamped(y * p / q, kUnitBounds);
}

/// log |gamma(x)|; the C library's, without its global sign.
inline float lgamma(float x) {
  int sign;
  return ::lgammaf_r(x, &sign);
}
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

/// Starts from Winitzki's approximation (relative error 2e-3) and takes two Halley steps on
/// erfc for the tails, erf elsewhere.
inline double erfinv(double x) {
  const double magnitude = ::fabs(x);
  if (!(magnitude < 1)) {
    return magnitude == 1 ? ::copysign(highest<double>(), x) : __builtin_nan("");
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

}  // namespace FLAMBEAU_MATH

#include "core/math/complex.h"
#include "core/math/elementary.h"
#include "core/math/gamma.h"

#undef FLAMBEAU_MATH
#undef FLAMBEAU_SHORT
#undef FLAMBEAU_DEAR
#undef FLAMBEAU_LONG
