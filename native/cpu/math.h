#pragma once

/// The scalar functions that generated formulas call, one set per instruction set: those of
/// core/math/, with float forms of some that vectorise better than the C library's.

#include <bit>
#include <concepts>
#include <cstdint>

#include "core/base/error.h"
#include "core/types/element_types.h"
#include "cpu/math_bounds.h"
#include "cpu/vector_functions.h"

#define FLAMBEAU_MATH flambeau::cpu::FLAMBEAU_ISA::math
#define FLAMBEAU_SHORT FLAMBEAU_INLINE
#define FLAMBEAU_DEAR FLAMBEAU_INLINE
#define FLAMBEAU_LONG [[gnu::noinline]] inline
#if defined(__AVX2__)
#define FLAMBEAU_DEFINED \
  _Pragma("omp declare simd notinbranch") [[gnu::const, gnu::noinline]] static inline
#else
#define FLAMBEAU_DEFINED FLAMBEAU_INLINE
#endif

#include "core/math/c_library.h"
#include "core/math/sine_of_pi.h"

namespace FLAMBEAU_MATH {

namespace detail {

/// Division of integers by zero is an error.
template <class T>
[[noreturn]] T zero_divisor(const char* function) {
  fail(ErrorKind::runtime, function, ": division by zero");
}

FLAMBEAU_INLINE int trailing_zeros(std::unsigned_integral auto x) { return std::countr_zero(x); }

}  // namespace detail
}  // namespace FLAMBEAU_MATH

#include "cpu/elementary/arcs.h"
#include "cpu/elementary/exponentials.h"
#include "cpu/elementary/logarithms.h"

namespace FLAMBEAU_MATH {

FLAMBEAU_C_1(sin)
FLAMBEAU_C_1(cos)
FLAMBEAU_C_1(tan)
FLAMBEAU_C_1(atan)
FLAMBEAU_C_1(erfc)
FLAMBEAU_C_1(sqrt)
FLAMBEAU_C_2(atan2)
FLAMBEAU_C_2(pow)
FLAMBEAU_INLINE double erf(double x) { return ::erf(x); }

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

/// Of the standard normal distribution: half of erfc(-x / sqrt 2). Its slope makes up for what the
/// argument loses as a float: erfc'(u) is -erfc(u) (u + sqrt(u^2 + 4 / pi)), in the tail nearly,
/// and elsewhere small (Komatu's bounds). What rounds to 0 and 1 is not asked of the C library.
FLAMBEAU_INLINE float ndtr(float given) {
  const float near = given < kNdtrBounds.low ? 0.f : given;
  const double exact =
      -0.7071067811865476 * static_cast<double>(near > kNdtrBounds.high ? kNdtrBounds.high : near);
  const float u = static_cast<float>(exact), lost = static_cast<float>(exact - u);
  const float tail = 0.5f * ::erfcf(u);
  const float value = tail - tail * (lost * (u + __builtin_sqrtf(u * u + 1.27323954f)));
  return given < kNdtrBounds.low ? 0.f : value;
}

/// log |gamma(x)|: in double, by Stirling's series at x + 7 and the product that leads there;
/// reflected below 0.5, where gamma(x) gamma(1 - x) = pi / sin(pi x).
FLAMBEAU_INLINE float lgamma(float given) {
  constexpr double kPi = 3.141592653589793, kLogRootTwoPi = 0.9189385332046727;
  const double x = given;
  const bool reflected = x < 0.5;
  const double t = reflected ? 1 - x : x;
  const double product = t * (t + 1) * ((t + 2) * (t + 3)) * ((t + 4) * (t + 5) * (t + 6));
  const double y = t + 7, r = 1 / y, z = r * r;
  const double series = r * detail::polynomial(z, 1. / 156, -691. / 360360, 1. / 1188, -1. / 1680,
                                               1. / 1260, -1. / 360, 1. / 12);
  const double far = (y - 0.5) * log(y) - y + kLogRootTwoPi + series;
  const double near = log(reflected ? kPi * product / detail::sine_of_pi(x) : product);
  const double value = reflected ? near - far : far - near;
  const float infinity = __builtin_inff();
  return __builtin_fabsf(given) == infinity ? infinity : static_cast<float>(value);
}
/// The C library's, without its global sign; of many positive numbers at once in vectors.
FLAMBEAU_INLINE double lgamma(double x) {
#ifdef FLAMBEAU_LOG_GAMMA
  return FLAMBEAU_LOG_GAMMA(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);
#endif
}

/// x P(w) with w = -log(1 - x^2), in the tails x Q(sqrt w): M. Giles, "Approximating the erfinv
/// function", GPU Computing Gems 2, 2011; minimax fits of relative error 6e-9 and 7e-8.
FLAMBEAU_INLINE float erfinv(float x) {
  const float w = -::logf((1.f - x) * (1.f + x));
  const float near =
      detail::polynomial(w - 2.5f, -8.79104078e-09f, 2.32326656e-08f, 4.66170462e-07f,
                         -3.46270508e-06f, -4.96334678e-06f, 2.18344445e-04f, -1.25274190e-03f,
                         -4.17738687e-03f, 2.46640280e-01f, 1.50140941f);
  const float far = detail::polynomial(__builtin_sqrtf(w) - 3.f, -1.81468436e-04f, 9.49156456e-05f,
                                       1.32290274e-03f, -3.66865424e-03f, 5.75130060e-03f,
                                       -7.62319844e-03f, 9.43721645e-03f, 1.00167406f, 2.83297706f);
  const float value = x * (w < 5.f ? near : far);
  return x * x == 1.f ? __builtin_copysignf(__builtin_inff(), x) : value;
}

/// The remainder with the sign of a. An infinite b counts as a large one. With a fused step, each
/// round leaves exactly what a quotient's first 51 bits do not cover, or half of b; quotients of
/// floats have 277 bits at most. Without, numbers of 24 bits with a quotient below 2^29 have a
/// product that is exact in double; the C library takes the other ones bit by bit.
FLAMBEAU_INLINE float fmod(float a, float b) {
  constexpr double kLarge = 1e300;
  const double magnitude = __builtin_fabs(static_cast<double>(b));
  const double divisor = magnitude > kLarge ? kLarge : magnitude;
  const double dividend = __builtin_fabs(static_cast<double>(a));
#ifdef __FP_FAST_FMA
  const double inverse = 1 / divisor;
  double rest = dividend;
#pragma GCC unroll 6
  for (int round = 0; round < 6; ++round)
    rest = __builtin_fma(-__builtin_rint(rest * inverse), divisor, rest);
  rest = rest < 0 ? rest + divisor : rest;
#else
  const double quotient = __builtin_trunc(dividend / divisor);
  if (FLAMBEAU_UNLIKELY(!(quotient < 0x1p29))) return ::fmodf(a, b);
  const double rest = dividend - quotient * divisor;
#endif
  return __builtin_copysignf(static_cast<float>(rest), a);
}
/// A fused step finds the rest of a quotient below 2^53 exactly, and where that was rounded up to
/// an integer, what b is more than the rest.
FLAMBEAU_INLINE double fmod(double a, double b) {
#ifdef __FP_FAST_FMA
  const double dividend = __builtin_fabs(a), divisor = __builtin_fabs(b);
  const double quotient = dividend / divisor;
  if (FLAMBEAU_LIKELY(quotient < 0x1p53 && divisor < __builtin_inf())) {
    const double rest = __builtin_fma(-__builtin_trunc(quotient), divisor, dividend);
    return __builtin_copysign(rest < 0 ? rest + divisor : rest, a);
  }
#endif
  return ::fmod(a, b);
}

namespace detail {

/// Numbers of one sign are in the order of their bits as integers.
template <class Bits, class T>
FLAMBEAU_INLINE T next_number(T a, T b) {
  const Bits bits = std::bit_cast<Bits>(a);
  const Bits moved = (a < 0) == (b < a) ? bits + 1 : bits - 1;
  const T next =
      a == 0 ? __builtin_copysign(std::bit_cast<T>(Bits(1)), b) : std::bit_cast<T>(moved);
  const T found = a == b ? b : next;
  return (a != a) | (b != b) ? a + b : found;
}

/// The bits of a number, taken apart. Numbers below the normal range are scaled into it first.
template <class T, class Bits, int mantissa>
struct Parts {
  static constexpr Bits kExponents = std::bit_cast<Bits>(static_cast<T>(__builtin_inf()));
  static constexpr Bits kHalf = std::bit_cast<Bits>(static_cast<T>(0.5));
  static constexpr int kScale = mantissa + 1;
  bool is_small, is_plain;
  Bits bits;

  FLAMBEAU_INLINE explicit Parts(T x)
      : is_small((std::bit_cast<Bits>(x) & kExponents) == 0),
        is_plain((x - x == 0) & (x != 0)),
        bits(std::bit_cast<Bits>(is_small ? x * static_cast<T>(Bits(1) << kScale) : x)) {}
  FLAMBEAU_INLINE T exponent() const {
    const Bits found = ((bits & kExponents) >> mantissa) - (kHalf >> mantissa);
    return is_plain ? static_cast<T>(is_small ? found - kScale : found) : T(0);
  }
  FLAMBEAU_INLINE T fraction(T x) const {
    return is_plain ? std::bit_cast<T>((bits & ~kExponents) | kHalf) : x;
  }
};
using FloatParts = Parts<float, int32_t, 23>;
using DoubleParts = Parts<double, int64_t, 52>;

}  // namespace detail

/// The power of 2 that x is a fraction in [0.5, 1) of; 0 of what is none.
FLAMBEAU_INLINE float binary_exponent(float x) { return detail::FloatParts(x).exponent(); }
FLAMBEAU_INLINE double binary_exponent(double x) { return detail::DoubleParts(x).exponent(); }
/// x without that power.
FLAMBEAU_INLINE float binary_fraction(float x) { return detail::FloatParts(x).fraction(x); }
FLAMBEAU_INLINE double binary_fraction(double x) { return detail::DoubleParts(x).fraction(x); }

FLAMBEAU_INLINE float nextafter(float a, float b) { return detail::next_number<int32_t>(a, b); }
FLAMBEAU_INLINE double nextafter(double a, double b) { return detail::next_number<int64_t>(a, b); }

}  // namespace FLAMBEAU_MATH

#include "core/math/complex.h"
#include "core/math/elementary.h"
#include "core/math/gamma.h"
#include "core/math/gamma_slope.h"
#include "core/math/incomplete_gamma.h"
#include "core/math/polynomials.h"
#include "functions.h"

#undef FLAMBEAU_C_1
#undef FLAMBEAU_C_2
#undef FLAMBEAU_MATH
#undef FLAMBEAU_SHORT
#undef FLAMBEAU_DEAR
#undef FLAMBEAU_DEFINED
#undef FLAMBEAU_LONG
#undef FLAMBEAU_VECTOR
