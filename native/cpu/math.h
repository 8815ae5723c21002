#pragma once

/// The scalar functions that generated formulas call, one set per instruction set: for float and
/// double here, for complex numbers in math_complex.h, gamma-like functions in math_special.h.
/// Integer arguments of functions on reals are computed in double. Functions are branch-free where
/// loops over them should vectorise.

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/complex.h"
#include "core/error.h"
#include "cpu/math_bounds.h"
#include "cpu/vector_functions.h"

namespace flambeau::math {

/// A complex literal of a formula, for any T.
template <class T>
constexpr T make_complex(double re, double im) {
  if constexpr (requires { typename T::value_type; }) {
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
  } else {
    return static_cast<T>(re);
  }
}

}  // namespace flambeau::math

namespace flambeau::cpu::FLAMBEAU_ISA::math {

using ::flambeau::math::make_complex;

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Integer = std::integral<T>;
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

/// Functions of one real number: float and double forms of the C library, integers as double.
#define FLAMBEAU_REAL_1(name)                                  \
  FLAMBEAU_INLINE float name(float x) { return ::name##f(x); } \
  FLAMBEAU_INLINE double name(double x) { return ::name(x); }  \
  FLAMBEAU_INLINE double name(Integer auto x) { return ::name(static_cast<double>(x)); }
/// The same, with a float form of our own, defined below.
#define FLAMBEAU_REAL_1_DOUBLE(name)                          \
  FLAMBEAU_INLINE double name(double x) { return ::name(x); } \
  FLAMBEAU_INLINE double name(Integer auto x) { return ::name(static_cast<double>(x)); }
#define FLAMBEAU_REAL_2(name)                                              \
  FLAMBEAU_INLINE float name(float a, float b) { return ::name##f(a, b); } \
  FLAMBEAU_INLINE double name(double a, double b) { return ::name(a, b); } \
  template <Arithmetic A, Arithmetic B>                                    \
  FLAMBEAU_INLINE double name(A a, B b) {                                  \
    return ::name(static_cast<double>(a), static_cast<double>(b));         \
  }

FLAMBEAU_REAL_1_DOUBLE(exp)
FLAMBEAU_REAL_1_DOUBLE(exp2)
FLAMBEAU_REAL_1(expm1)
FLAMBEAU_REAL_1(log)
FLAMBEAU_REAL_1(log2)
FLAMBEAU_REAL_1(log10)
FLAMBEAU_REAL_1(log1p)
FLAMBEAU_REAL_1(sqrt)
FLAMBEAU_REAL_1(sin)
FLAMBEAU_REAL_1(cos)
FLAMBEAU_REAL_1(tan)
FLAMBEAU_REAL_1(asin)
FLAMBEAU_REAL_1(acos)
FLAMBEAU_REAL_1(atan)
FLAMBEAU_REAL_1(sinh)
FLAMBEAU_REAL_1(cosh)
FLAMBEAU_REAL_1(tanh)
FLAMBEAU_REAL_1(asinh)
FLAMBEAU_REAL_1(acosh)
FLAMBEAU_REAL_1(atanh)
FLAMBEAU_REAL_1_DOUBLE(erf)
FLAMBEAU_REAL_1(erfc)
FLAMBEAU_REAL_2(atan2)
FLAMBEAU_REAL_2(hypot)
FLAMBEAU_REAL_2(nextafter)

namespace detail {

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
FLAMBEAU_INLINE double sigmoid(double x) { return 1 / (1 + exp(-x)); }
FLAMBEAU_INLINE double sigmoid(Integer auto x) { return sigmoid(static_cast<double>(x)); }

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

FLAMBEAU_INLINE float rsqrt(float x) { return 1.f / sqrt(x); }
FLAMBEAU_INLINE double rsqrt(double x) { return 1. / sqrt(x); }
FLAMBEAU_INLINE double rsqrt(Integer auto x) { return rsqrt(static_cast<double>(x)); }

// --- rounding, sign, selection ---

#define FLAMBEAU_ROUNDING(name, builtin)                                    \
  FLAMBEAU_INLINE float name(float x) { return __builtin_##builtin##f(x); } \
  FLAMBEAU_INLINE double name(double x) { return __builtin_##builtin(x); }  \
  template <Integer T>                                                      \
  FLAMBEAU_INLINE T name(T x) {                                             \
    return x;                                                               \
  }
FLAMBEAU_ROUNDING(floor, floor)
FLAMBEAU_ROUNDING(ceil, ceil)
FLAMBEAU_ROUNDING(trunc, trunc)
FLAMBEAU_ROUNDING(round, rint)  // halves to even
#undef FLAMBEAU_ROUNDING

template <Arithmetic T>
FLAMBEAU_INLINE T abs(T x) {
  if constexpr (Real<T>) {
    return std::is_same_v<T, float> ? T(__builtin_fabsf(x)) : T(__builtin_fabs(x));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(x < 0 ? -x : x);
  } else {
    return x;
  }
}

/// -1, 0 or 1; a NaN stays one.
template <Arithmetic T>
FLAMBEAU_INLINE T sign(T x) {
  if constexpr (Real<T>) {
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>((x > 0) - (x < 0));
  } else {
    return static_cast<T>(x != 0);
  }
}

template <Arithmetic T>
FLAMBEAU_INLINE bool isnan([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return x != x;
  } else {
    return false;
  }
}
template <Arithmetic T>
FLAMBEAU_INLINE bool isinf([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return abs(x) == std::numeric_limits<T>::infinity();
  } else {
    return false;
  }
}
template <Arithmetic T>
FLAMBEAU_INLINE bool isfinite([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return abs(x) <= std::numeric_limits<T>::max();
  } else {
    return true;
  }
}
template <Arithmetic T>
FLAMBEAU_INLINE bool signbit(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<int32_t>(x) < 0;
  } else if constexpr (Real<T>) {
    return std::bit_cast<int64_t>(x) < 0;
  } else {
    return x < T(0);
  }
}

/// NaN if either is. A comparison with a NaN is false and gives b, so that only a needs a test; the
/// first line is one instruction.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_INLINE auto maximum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  const T larger = x > y ? x : y;
  return x != x ? x : larger;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_INLINE auto minimum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  const T smaller = x < y ? x : y;
  return x != x ? x : smaller;
}
/// The one that is not NaN.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_INLINE auto fmax(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return (x >= y) | (y != y) ? x : y;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_INLINE auto fmin(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return (x <= y) | (y != y) ? x : y;
}

FLAMBEAU_INLINE float copysign(float a, float b) { return __builtin_copysignf(a, b); }
FLAMBEAU_INLINE double copysign(double a, double b) { return __builtin_copysign(a, b); }
template <Arithmetic A, Arithmetic B>
FLAMBEAU_INLINE double copysign(A a, B b) {
  return __builtin_copysign(static_cast<double>(a), static_cast<double>(b));
}

template <class T>
FLAMBEAU_INLINE T where(bool condition, T a, T b) {
  return condition ? a : b;
}
template <class T>
FLAMBEAU_INLINE T square(T x) {
  return static_cast<T>(x * x);
}

// --- division and powers ---

namespace detail {

template <Integer T>
FLAMBEAU_INLINE void check_divisor(T b, const char* function) {
  if (FLAMBEAU_UNLIKELY(b == 0)) fail(ErrorKind::runtime, function, ": division by zero");
}

}  // namespace detail

/// The remainder with the sign of a.
FLAMBEAU_INLINE float fmod(float a, float b) { return ::fmodf(a, b); }
FLAMBEAU_INLINE double fmod(double a, double b) { return ::fmod(a, b); }
template <Integer T>
inline T fmod(T a, T b) {
  detail::check_divisor(b, "fmod");
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;  // the smallest integer would trap
  }
  return static_cast<T>(a % b);
}

/// The remainder with the sign of b.
template <Real T>
FLAMBEAU_INLINE T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}
template <Integer T>
inline T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

/// floor(a / b), exact: a multiple of b is taken from a before dividing.
template <Real T>
FLAMBEAU_INLINE T floor_divide(T a, T b) {
  const T rest = fmod(a, b);
  T quotient = (a - rest) / b;
  quotient = (rest != 0) & ((rest < 0) != (b < 0)) ? quotient - 1 : quotient;
  T whole = floor(quotient);
  whole = quotient - whole > T(0.5) ? whole + 1 : whole;
  whole = quotient == 0 ? copysign(T(0), a / b) : whole;
  return b == 0 ? a / b : whole;
}
template <Integer T>
inline T floor_divide(T a, T b) {
  detail::check_divisor(b, "floor_divide");
  if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (b == -1) return static_cast<T>(U(0) - static_cast<U>(a));
  }
  const T quotient = static_cast<T>(a / b);
  return static_cast<T>(quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}

/// Integer division rounded towards zero; a / b for the rest.
template <Arithmetic T>
FLAMBEAU_INLINE T trunc_divide(T a, T b) {
  if constexpr (Real<T>) {
    return trunc(a / b);
  } else {
    detail::check_divisor(b, "div");
    if constexpr (std::is_signed_v<T>) {
      using U = std::make_unsigned_t<T>;
      if (b == -1) return static_cast<T>(U(0) - static_cast<U>(a));
    }
    return static_cast<T>(a / b);
  }
}

FLAMBEAU_INLINE float pow(float a, float b) { return ::powf(a, b); }
FLAMBEAU_INLINE double pow(double a, double b) { return ::pow(a, b); }
/// Wraps around; a negative exponent gives 0 except for bases of magnitude 1.
template <Integer T>
inline T pow(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || !b;
  } else {
    if (b < 0) return static_cast<T>(a == 1 ? 1 : a == T(-1) ? ((b & 1) != 0 ? -1 : 1) : 0);
    uint64_t result = 1, base = static_cast<uint64_t>(a);
    for (uint64_t left = static_cast<uint64_t>(b); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
}
template <Arithmetic A, Arithmetic B>
requires(!std::is_same_v<A, B>) FLAMBEAU_INLINE auto pow(A a, B b) {
  using T = std::common_type_t<A, B>;
  return pow(static_cast<T>(a), static_cast<T>(b));
}

// --- bits ---

template <Integer T>
FLAMBEAU_INLINE T bitwise_not(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return !x;
  } else {
    return static_cast<T>(~x);
  }
}
/// 0 once every bit is shifted out, or for a negative count.
template <Integer T>
FLAMBEAU_INLINE T left_shift(T a, T b) {
  const int64_t count = static_cast<int64_t>(b);
  const bool inside = (count >= 0) & (count < static_cast<int64_t>(8 * sizeof(T)));
  return inside ? static_cast<T>(static_cast<uint64_t>(a) << (count & 63)) : T(0);
}
/// Keeps the sign; a count out of range shifts every bit out.
template <Integer T>
FLAMBEAU_INLINE T right_shift(T a, T b) {
  const int64_t count = static_cast<int64_t>(b), last = static_cast<int64_t>(8 * sizeof(T)) - 1;
  const bool inside = (count >= 0) & (count <= last);
  const T out = std::is_signed_v<T> && a < T(0) ? T(-1) : T(0);
  return inside ? static_cast<T>(a >> (count & last)) : out;
}

// --- logarithms of sums ---

template <Real T>
FLAMBEAU_INLINE T logaddexp(T a, T b) {
  const T large = maximum(a, b);
  const T sum = large + log1p(exp(-abs(a - b)));
  return a == b && isinf(a) ? a : sum;  // inf - inf
}
template <Real T>
FLAMBEAU_INLINE T logaddexp2(T a, T b) {
  const T large = maximum(a, b);
  const T sum = large + log1p(exp2(-abs(a - b))) * T(1.4426950408889634);
  return a == b && isinf(a) ? a : sum;
}
template <Real T>
FLAMBEAU_INLINE T xlogy(T a, T b) {
  const T product = a * log(b);
  return (a == 0) & (b == b) ? T(0) : product;
}
template <Real T>
FLAMBEAU_INLINE T xlog1py(T a, T b) {
  const T product = a * log1p(b);
  return (a == 0) & (b == b) ? T(0) : product;
}

// --- real numbers as complex ones ---

template <Arithmetic T>
FLAMBEAU_INLINE T conj(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_INLINE T real(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_INLINE T imag(T) {
  return T(0);
}
/// 0 or pi; NaN for NaN.
template <Arithmetic T>
FLAMBEAU_INLINE auto angle(T x) {
  using R = std::conditional_t<Real<T>, T, double>;
  const R value = static_cast<R>(x);
  return value < 0 ? R(3.141592653589793) : value != value ? value : R(0);
}

#undef FLAMBEAU_REAL_1
#undef FLAMBEAU_REAL_1_DOUBLE
#undef FLAMBEAU_REAL_2

}  // namespace flambeau::cpu::FLAMBEAU_ISA::math

#include "cpu/math_complex.h"
#include "cpu/math_special.h"
