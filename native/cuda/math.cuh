#pragma once

/// The scalar functions that generated formulas call, for device code: the names and meanings of
/// cpu/math.h. Integer arguments of functions on reals are computed in double. Dear functions on
/// double are calls, not inlined: formulas over them are bound by arithmetic, and compile in a
/// fraction of the time. Most functions serve the host too, where formulas compute their constants.

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cuda/types.cuh"

#define FLAMBEAU_SHARED __host__ __device__ __forceinline__
#define FLAMBEAU_CALLED __host__ __device__ __noinline__ inline

namespace flambeau::math {

/// A complex literal of a formula, for any T.
template <class T>
FLAMBEAU_SHARED constexpr T make_complex(double re, double im) {
  if constexpr (requires { typename T::value_type; }) {
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
  } else {
    return static_cast<T>(re);
  }
}

}  // namespace flambeau::math

namespace flambeau::cuda::math {

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Integer = std::integral<T>;
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

using ::flambeau::math::make_complex;

/// Functions of one real number; `kind`: how the double form is compiled.
#define FLAMBEAU_REAL_1(name, kind)                            \
  FLAMBEAU_SHARED float name(float x) { return ::name##f(x); } \
  kind double name(double x) { return ::name(x); }             \
  FLAMBEAU_SHARED double name(Integer auto x) { return name(static_cast<double>(x)); }
#define FLAMBEAU_REAL_2(name)                                              \
  FLAMBEAU_SHARED float name(float a, float b) { return ::name##f(a, b); } \
  FLAMBEAU_CALLED double name(double a, double b) { return ::name(a, b); } \
  template <Arithmetic A, Arithmetic B>                                    \
  FLAMBEAU_SHARED double name(A a, B b) {                                  \
    return name(static_cast<double>(a), static_cast<double>(b));           \
  }

FLAMBEAU_REAL_1(exp, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(exp2, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(expm1, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(log, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(log2, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(log10, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(log1p, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(sqrt, FLAMBEAU_SHARED)
FLAMBEAU_REAL_1(sin, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(cos, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(tan, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(asin, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(acos, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(atan, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(sinh, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(cosh, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(tanh, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(asinh, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(acosh, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(atanh, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(erf, FLAMBEAU_CALLED)
FLAMBEAU_REAL_1(erfc, FLAMBEAU_CALLED)
FLAMBEAU_REAL_2(atan2)
FLAMBEAU_REAL_2(hypot)
FLAMBEAU_REAL_2(nextafter)

template <Real T>
FLAMBEAU_SHARED T sigmoid(T x) {
  return 1 / (1 + exp(-x));
}
FLAMBEAU_SHARED double sigmoid(Integer auto x) { return sigmoid(static_cast<double>(x)); }
template <Real T>
FLAMBEAU_SHARED T rsqrt(T x) {
  return 1 / sqrt(x);
}
FLAMBEAU_SHARED double rsqrt(Integer auto x) { return rsqrt(static_cast<double>(x)); }

// --- rounding, sign, selection ---

#define FLAMBEAU_ROUNDING(name, function)                          \
  FLAMBEAU_SHARED float name(float x) { return ::function##f(x); } \
  FLAMBEAU_SHARED double name(double x) { return ::function(x); }  \
  template <Integer T>                                             \
  FLAMBEAU_SHARED T name(T x) {                                    \
    return x;                                                      \
  }
FLAMBEAU_ROUNDING(floor, floor)
FLAMBEAU_ROUNDING(ceil, ceil)
FLAMBEAU_ROUNDING(trunc, trunc)
FLAMBEAU_ROUNDING(round, rint)  // halves to even
#undef FLAMBEAU_ROUNDING

template <Arithmetic T>
FLAMBEAU_SHARED T abs(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return ::fabsf(x);
  } else if constexpr (Real<T>) {
    return ::fabs(x);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(x < 0 ? -x : x);
  } else {
    return x;
  }
}

/// -1, 0 or 1; a NaN stays one.
template <Arithmetic T>
FLAMBEAU_SHARED T sign(T x) {
  if constexpr (Real<T>) {
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>((x > 0) - (x < 0));
  } else {
    return static_cast<T>(x != 0);
  }
}

template <Arithmetic T>
FLAMBEAU_SHARED bool isnan([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return x != x;
  } else {
    return false;
  }
}
template <Arithmetic T>
FLAMBEAU_SHARED bool isinf([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return abs(x) == highest<T>();
  } else {
    return false;
  }
}
template <Arithmetic T>
FLAMBEAU_SHARED bool isfinite([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return abs(x) < highest<T>();
  } else {
    return true;
  }
}
template <Arithmetic T>
FLAMBEAU_SHARED bool signbit(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<int32_t>(flambeau::detail::float_bits(x)) < 0;
  } else if constexpr (Real<T>) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0;
  } else {
    return x < T(0);
  }
}

/// NaN if either is.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHARED auto maximum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x != x || x > y ? x : y;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHARED auto minimum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x != x || x < y ? x : y;
}
/// The one that is not NaN.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHARED auto fmax(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x >= y || y != y ? x : y;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHARED auto fmin(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x <= y || y != y ? x : y;
}

FLAMBEAU_SHARED float copysign(float a, float b) { return ::copysignf(a, b); }
FLAMBEAU_SHARED double copysign(double a, double b) { return ::copysign(a, b); }
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHARED double copysign(A a, B b) {
  return ::copysign(static_cast<double>(a), static_cast<double>(b));
}

template <class T>
FLAMBEAU_SHARED T where(bool condition, T a, T b) {
  return condition ? a : b;
}
template <class T>
FLAMBEAU_SHARED T square(T x) {
  return static_cast<T>(x * x);
}

// --- division and powers ---

/// The remainder with the sign of a. A kernel cannot raise: an integer divided by zero gives 0.
FLAMBEAU_CALLED float fmod(float a, float b) { return ::fmodf(a, b); }
FLAMBEAU_CALLED double fmod(double a, double b) { return ::fmod(a, b); }
template <Integer T>
FLAMBEAU_SHARED T fmod(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return T(0);
  }
  return static_cast<T>(a % b);
}

/// The remainder with the sign of b.
template <Arithmetic T>
FLAMBEAU_SHARED T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return static_cast<T>(rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest);
}

/// floor(a / b), exact: a multiple of b is taken from a before dividing.
template <Real T>
FLAMBEAU_CALLED T floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T rest = fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return copysign(T(0), a / b);
  const T whole = floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}
template <Integer T>
FLAMBEAU_SHARED T floor_divide(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (b == T(-1)) return static_cast<T>(U(0) - static_cast<U>(a));
  }
  const T quotient = static_cast<T>(a / b);
  return static_cast<T>(quotient * b != a && (a < T(0)) != (b < T(0)) ? quotient - 1 : quotient);
}

/// Integer division rounded towards zero; trunc(a / b) for the rest.
template <Arithmetic T>
FLAMBEAU_SHARED T trunc_divide(T a, T b) {
  if constexpr (Real<T>) {
    return trunc(a / b);
  } else {
    if (b == T(0)) return T(0);
    if constexpr (std::is_signed_v<T>) {
      using U = std::make_unsigned_t<T>;
      if (b == T(-1)) return static_cast<T>(U(0) - static_cast<U>(a));
    }
    return static_cast<T>(a / b);
  }
}

FLAMBEAU_CALLED float pow(float a, float b) { return ::powf(a, b); }
FLAMBEAU_CALLED double pow(double a, double b) { return ::pow(a, b); }
/// Wraps around; a negative exponent gives 0 except for bases of magnitude 1.
template <Integer T>
FLAMBEAU_CALLED T pow(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || !b;
  } else {
    if (b < T(0)) return static_cast<T>(a == 1 ? 1 : a == T(-1) ? ((b & 1) != 0 ? -1 : 1) : 0);
    uint64_t result = 1, base = static_cast<uint64_t>(a);
    for (uint64_t left = static_cast<uint64_t>(b); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
}
template <Arithmetic A, Arithmetic B>
requires(!std::is_same_v<A, B>) FLAMBEAU_SHARED auto pow(A a, B b) {
  using T = std::common_type_t<A, B>;
  return pow(static_cast<T>(a), static_cast<T>(b));
}

// --- bits ---

template <Integer T>
FLAMBEAU_SHARED T bitwise_not(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return !x;
  } else {
    return static_cast<T>(~x);
  }
}
/// 0 once every bit is shifted out, or for a negative count.
template <Integer T>
FLAMBEAU_SHARED T left_shift(T a, T b) {
  const int64_t count = static_cast<int64_t>(b);
  const bool inside = count >= 0 && count < static_cast<int64_t>(8 * sizeof(T));
  return inside ? static_cast<T>(static_cast<uint64_t>(a) << (count & 63)) : T(0);
}
/// Keeps the sign; a count out of range shifts every bit out.
template <Integer T>
FLAMBEAU_SHARED T right_shift(T a, T b) {
  const int64_t count = static_cast<int64_t>(b), last = static_cast<int64_t>(8 * sizeof(T)) - 1;
  const bool inside = count >= 0 && count <= last;
  const T out = std::is_signed_v<T> && a < T(0) ? T(-1) : T(0);
  return inside ? static_cast<T>(a >> (count & last)) : out;
}

// --- logarithms of sums ---

template <Real T>
FLAMBEAU_SHARED T logaddexp(T a, T b) {
  const T large = maximum(a, b);
  const T sum = large + log1p(exp(-abs(a - b)));
  return a == b && isinf(a) ? a : sum;  // inf - inf
}
template <Real T>
FLAMBEAU_SHARED T logaddexp2(T a, T b) {
  const T large = maximum(a, b);
  const T sum = large + log1p(exp2(-abs(a - b))) * T(1.4426950408889634);
  return a == b && isinf(a) ? a : sum;
}
template <Real T>
FLAMBEAU_SHARED T xlogy(T a, T b) {
  return a == 0 && b == b ? T(0) : a * log(b);
}
template <Real T>
FLAMBEAU_SHARED T xlog1py(T a, T b) {
  return a == 0 && b == b ? T(0) : a * log1p(b);
}

// --- real numbers as complex ones ---

template <Arithmetic T>
FLAMBEAU_SHARED T conj(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_SHARED T real(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_SHARED T imag(T) {
  return T(0);
}
/// 0 or pi; NaN for NaN.
template <Arithmetic T>
FLAMBEAU_SHARED auto angle(T x) {
  using R = std::conditional_t<Real<T>, T, double>;
  const R value = static_cast<R>(x);
  return value < 0 ? R(3.141592653589793) : value != value ? value : R(0);
}

#undef FLAMBEAU_REAL_1
#undef FLAMBEAU_REAL_2

}  // namespace flambeau::cuda::math

#include "cuda/math_complex.cuh"
#include "cuda/math_special.cuh"

#undef FLAMBEAU_SHARED
#undef FLAMBEAU_CALLED
