#pragma once

/// What the elementary functions of this folder are made of: they have no branches, so that loops
/// through them become vectors whatever their arguments are, where vectors of the C library take
/// what is unusual one by one. Part of cpu/math/.

#include <bit>
#include <concepts>
#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "core/types/element_types.h"
#include "cpu/math.h"
#include "cpu/math_bounds.h"

namespace FLAMBEAU_MATH::detail {

template <class T, class Limits>
FLAMBEAU_INLINE T clamped(T x, const Limits& bounds) {
  x = x < bounds.low ? bounds.low : x;
  return x > bounds.high ? bounds.high : x;
}

/// a b + c for polynomials, in one step where the instruction set has one.
FLAMBEAU_INLINE float multiply_add(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
#ifdef __FP_FAST_FMA
inline constexpr bool kFuses = true;
FLAMBEAU_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
inline constexpr bool kFuses = false;
FLAMBEAU_INLINE double multiply_add(double a, double b, double c) { return a * b + c; }
#endif

/// first x^n + ... + last, for a call with n + 1 coefficients.
template <std::floating_point T>
FLAMBEAU_INLINE T polynomial(T, T last) {
  return last;
}
template <std::floating_point T, std::same_as<T>... More>
FLAMBEAU_INLINE T polynomial(T x, T first, T next, More... rest) {
  return polynomial(x, multiply_add(first, x, next), rest...);
}

#if defined(__AVX512F__)
/// The same of vectors, in files that write these out.
FLAMBEAU_INLINE __m512d multiply_add(__m512d a, __m512d b, __m512d c) {
  return _mm512_fmadd_pd(a, b, c);
}
FLAMBEAU_INLINE __m512 multiply_add(__m512 a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(a, b, c);
}
FLAMBEAU_INLINE __m512 multiply_add(__m512 a, float b, __m512 c) {
  return _mm512_fmadd_ps(a, _mm512_set1_ps(b), c);
}
template <std::same_as<float>... More>
FLAMBEAU_INLINE __m512 polynomial(__m512 x, float first, More... rest) {
  __m512 value = _mm512_set1_ps(first);
  ((value = _mm512_fmadd_ps(value, x, _mm512_set1_ps(rest))), ...);
  return value;
}
#elif defined(__AVX2__)
FLAMBEAU_INLINE __m256d multiply_add(__m256d a, __m256d b, __m256d c) {
  return _mm256_fmadd_pd(a, b, c);
}
#endif

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kDigits = 23;
  static constexpr float kBias = 127, kWhole = 0x1p23f, kLeast = 0x1p-126f;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kDigits = 52;
  static constexpr double kBias = 1023, kWhole = 0x1p52, kLeast = 0x1p-1022;
};

template <class T>
inline constexpr T kInfinity = static_cast<T>(__builtin_inf());
template <class T>
inline constexpr T kNaN = static_cast<T>(__builtin_nan(""));

template <class T>
FLAMBEAU_INLINE T magnitude(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_fabsf(x);
  } else {
    return __builtin_fabs(x);
  }
}
template <class T>
FLAMBEAU_INLINE T with_sign(T x, T sign) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_copysignf(x, sign);
  } else {
    return __builtin_copysign(x, sign);
  }
}
template <class T>
FLAMBEAU_INLINE T root(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_sqrtf(x);
  } else {
    return __builtin_sqrt(x);
  }
}

/// 1.5 * 2^23, 1.5 * 2^52: adding it rounds a number of less than half of its size to an integer,
/// kept in the low bits.
inline constexpr float kRounder = 12582912.f;
inline constexpr double kWideRounder = 6755399441055744.;

}  // namespace FLAMBEAU_MATH::detail
