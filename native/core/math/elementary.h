#pragma once

/// The scalar functions that generated formulas call, on real numbers; complex.h and gamma.h hold
/// the others. One source for every processor: a room's own header (cpu/math.h, cuda/math.cuh)
/// says, before it includes this one,
///     FLAMBEAU_MATH          the namespace to define the functions in,
///     FLAMBEAU_SHORT         specifiers of functions that are inlined,
///     FLAMBEAU_DEAR          of dear ones: inlined where loops vectorise, else called,
///     FLAMBEAU_DEFINED       of those of functions.h: called, by loops for several lanes,
///     FLAMBEAU_LONG          of long ones, with loops or branches: called,
/// and defines in that namespace the functions of float and double that C libraries have, by
/// c_library.h or faster ones of its own, sigmoid of float, binary_exponent and binary_fraction;
/// detail::multiply_add(a, b, c) of doubles, which rounds once where detail::kFuses says so,
/// detail::trailing_zeros(x) of unsigned words that are not 0, and detail::zero_divisor<T>(name),
/// the quotient of integers that have none. Integer arguments of
/// functions on reals are computed in double. Functions are branch-free where loops over them
/// should vectorise.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/base/macros.h"
#include "core/types/element_types.h"

namespace flambeau::math {

/// A complex literal of a formula, for any T.
template <class T>
FLAMBEAU_HOST_DEVICE constexpr T make_complex(double re, double im) {
  if constexpr (requires { typename T::value_type; }) {
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
  } else {
    return static_cast<T>(re);
  }
}

}  // namespace flambeau::math

namespace FLAMBEAU_MATH {

using ::flambeau::math::make_complex;

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Integer = std::integral<T>;
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

// --- functions of reals: those of float and double are the room's own, integers count as double
// ---

#define FLAMBEAU_OF_INTEGER(name) \
  FLAMBEAU_SHORT double name(Integer auto x) { return name(static_cast<double>(x)); }
#define FLAMBEAU_OF_TWO(name)                                    \
  template <Arithmetic A, Arithmetic B>                          \
  FLAMBEAU_SHORT double name(A a, B b) {                         \
    return name(static_cast<double>(a), static_cast<double>(b)); \
  }
FLAMBEAU_OF_INTEGER(exp)
FLAMBEAU_OF_INTEGER(exp2)
FLAMBEAU_OF_INTEGER(expm1)
FLAMBEAU_OF_INTEGER(log)
FLAMBEAU_OF_INTEGER(log2)
FLAMBEAU_OF_INTEGER(log10)
FLAMBEAU_OF_INTEGER(log1p)
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
FLAMBEAU_OF_INTEGER(erf)
FLAMBEAU_OF_INTEGER(erfc)
FLAMBEAU_OF_INTEGER(sqrt)
FLAMBEAU_OF_TWO(atan2)
FLAMBEAU_OF_TWO(hypot)
FLAMBEAU_OF_TWO(nextafter)
#undef FLAMBEAU_OF_INTEGER
#undef FLAMBEAU_OF_TWO

/// 1 / (1 + e^-x)
FLAMBEAU_SHORT double sigmoid(double x) { return 1 / (1 + exp(-x)); }
FLAMBEAU_SHORT double sigmoid(Integer auto x) { return sigmoid(static_cast<double>(x)); }

template <Real T>
FLAMBEAU_SHORT T rsqrt(T x) {
  return 1 / sqrt(x);
}
FLAMBEAU_SHORT double rsqrt(Integer auto x) { return rsqrt(static_cast<double>(x)); }

// --- rounding, sign, selection ---

#define FLAMBEAU_ROUNDING(name, function)                         \
  FLAMBEAU_SHORT float name(float x) { return ::function##f(x); } \
  FLAMBEAU_SHORT double name(double x) { return ::function(x); }  \
  template <Integer T>                                            \
  FLAMBEAU_SHORT T name(T x) {                                    \
    return x;                                                     \
  }
FLAMBEAU_ROUNDING(floor, floor)
FLAMBEAU_ROUNDING(ceil, ceil)
FLAMBEAU_ROUNDING(trunc, trunc)
FLAMBEAU_ROUNDING(round, rint)  // halves to even
#undef FLAMBEAU_ROUNDING

template <Arithmetic T>
FLAMBEAU_SHORT T abs(T x) {
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

/// -1, 0 or 1, 0 for a NaN.
template <Arithmetic T>
FLAMBEAU_SHORT T sign(T x) {
  if constexpr (Real<T>) {
    return x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>((x > 0) - (x < 0));
  } else {
    return static_cast<T>(x != 0);
  }
}

template <Arithmetic T>
FLAMBEAU_SHORT bool isnan([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return x != x;
  } else {
    return false;
  }
}
template <Arithmetic T>
FLAMBEAU_SHORT bool isinf([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return abs(x) == highest<T>();
  } else {
    return false;
  }
}
template <Arithmetic T>
FLAMBEAU_SHORT bool isfinite([[maybe_unused]] T x) {
  if constexpr (Real<T>) {
    return abs(x) < highest<T>();
  } else {
    return true;
  }
}
template <Arithmetic T>
FLAMBEAU_SHORT bool signbit(T x) {
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

/// NaN if either is. A comparison with a NaN is false and gives a, so that only b needs a test: a
/// running maximum waits for one instruction, as the test of a new element does not depend on it.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto maximum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  const T larger = y > x ? y : x;
  return y != y ? y : larger;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto minimum(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  const T smaller = y < x ? y : x;
  return y != y ? y : smaller;
}
/// The one that is not NaN.
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto fmax(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return (x >= y) | (y != y) ? x : y;
}
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT auto fmin(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return (x <= y) | (y != y) ? x : y;
}

FLAMBEAU_SHORT float copysign(float a, float b) { return ::copysignf(a, b); }
FLAMBEAU_SHORT double copysign(double a, double b) { return ::copysign(a, b); }
template <Arithmetic A, Arithmetic B>
FLAMBEAU_SHORT double copysign(A a, B b) {
  return ::copysign(static_cast<double>(a), static_cast<double>(b));
}

template <class T>
FLAMBEAU_SHORT T where(bool condition, T a, T b) {
  return condition ? a : b;
}
template <class T>
FLAMBEAU_SHORT T square(T x) {
  return static_cast<T>(x * x);
}

/// A number times an element; complex ones are in complex.h.
template <class T>
FLAMBEAU_SHORT T scaled(T factor, T x) {
  return static_cast<T>(factor * x);
}

// --- division and powers ---

/// The remainder with the sign of a; that of float and double is the room's own.
template <Integer T>
FLAMBEAU_SHORT T fmod(T a, T b) {
  if (FLAMBEAU_UNLIKELY(b == T(0))) return detail::zero_divisor<T>("fmod");
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;  // the smallest integer would trap
  }
  return static_cast<T>(a % b);
}

namespace detail {

/// floor(a / b) and what is left of a: where one fused step finds that exactly. Where the quotient
/// was rounded up to an integer, `rest` has the wrong sign, which is rare.
struct Floored {
  double whole, rest;
  bool is_found, is_beyond;
};
FLAMBEAU_SHORT Floored floored(double a, double b) {
  const double quotient = a / b, whole = floor(quotient);
  const double rest = multiply_add(-whole, b, a);
  const bool is_found = kFuses && abs(quotient) < 0x1p53 && abs(b) < highest<double>();
  return {whole, rest, is_found, copysign(rest, b) != rest};
}

}  // namespace detail

/// The remainder with the sign of b.
FLAMBEAU_SHORT double remainder(double a, double b) {
  const detail::Floored found = detail::floored(a, b);
  if (FLAMBEAU_LIKELY(found.is_found)) {
    if (FLAMBEAU_UNLIKELY(found.is_beyond)) return found.rest + b;
    return abs(found.rest) > 0 ? found.rest : copysign(0., a);
  }
  const double rest = fmod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}
FLAMBEAU_SHORT float remainder(float a, float b) {
  const float rest = fmod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}
template <Integer T>
FLAMBEAU_SHORT T remainder(T a, T b) {
  const T rest = fmod(a, b);
  const bool is_other = (rest != T(0)) & ((rest < T(0)) != (b < T(0)));
  return static_cast<T>(rest + static_cast<T>(is_other) * b);
}

/// floor(a / b), exact: a multiple of b is taken from a before dividing.
FLAMBEAU_DEAR double floor_divide(double a, double b) {
  const detail::Floored found = detail::floored(a, b);
  if (FLAMBEAU_LIKELY(found.is_found))
    return FLAMBEAU_UNLIKELY(found.is_beyond) ? found.whole - 1 : found.whole;
  if (b == 0) return a / b;
  const double rest = fmod(a, b);
  double quotient = (a - rest) / b;
  quotient = (rest != 0) & ((rest < 0) != (b < 0)) ? quotient - 1 : quotient;
  double whole = floor(quotient);
  whole = quotient - whole > 0.5 ? whole + 1 : whole;
  return quotient == 0 ? copysign(0., a) * copysign(1., b) : whole;
}
/// Of float in double, where the quotient of two numbers of 24 bits is not rounded to an integer
/// that it is below, while integers of that size are told apart.
FLAMBEAU_SHORT float floor_divide(float a, float b) {
  const double quotient = static_cast<double>(a) / b;
  // An infinite divisor leaves of a quotient below 0 its sign; an infinite a has no rest.
  const bool is_below = (quotient == 0) & (a != 0) & ((a < 0) != (b < 0));
  const double whole = is_below ? -1 : floor(quotient);
  return static_cast<float>((a - a == 0) | (b == 0) ? whole : quotient - quotient);
}
template <Integer T>
FLAMBEAU_SHORT T floor_divide(T a, T b) {
  if (FLAMBEAU_UNLIKELY(b == T(0))) return detail::zero_divisor<T>("floor_divide");
  if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (b == -1) return static_cast<T>(U(0) - static_cast<U>(a));
  }
  const T quotient = static_cast<T>(a / b);
  const bool is_above = (quotient * b != a) & ((a < T(0)) != (b < T(0)));
  return static_cast<T>(quotient - is_above);
}

/// Stein's algorithm over magnitudes: of odd numbers, what divides both divides their difference,
/// whose factors 2 do not count. The largest magnitude, of the smallest integer, wraps around.
template <Integer T>
FLAMBEAU_DEAR T gcd(T a, T b) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Word x = a < T(0) ? Word(0) - static_cast<Word>(a) : static_cast<Word>(a);
  Word y = b < T(0) ? Word(0) - static_cast<Word>(b) : static_cast<Word>(b);
  if (x == 0 || y == 0) return static_cast<T>(x | y);
  const int shared = detail::trailing_zeros(x | y);
  x >>= detail::trailing_zeros(x);
  y >>= detail::trailing_zeros(y);
  while (x != y) {
    const Word gap = x > y ? x - y : y - x;
    y = x > y ? y : x;
    x = gap >> detail::trailing_zeros(gap);
  }
  return static_cast<T>(x << shared);
}

/// The magnitude, which wraps around; 0 if either is.
template <Integer T>
FLAMBEAU_DEAR T lcm(T a, T b) {
  using Word = decltype(a * b);
  const T divisor = gcd(a, b);
  if (divisor == T(0)) return T(0);
  const uint64_t product = static_cast<uint64_t>(a / divisor) * static_cast<uint64_t>(b);
  return static_cast<T>(static_cast<Word>(product) < 0 ? 0 - product : product);
}

/// Wraps around; a negative exponent gives 0 except for bases of magnitude 1.
template <Integer T>
FLAMBEAU_DEAR T pow(T a, T b) {
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
requires(!std::is_same_v<A, B>) FLAMBEAU_SHORT auto pow(A a, B b) {
  using T = std::common_type_t<A, B>;
  return pow(static_cast<T>(a), static_cast<T>(b));
}

// --- bits ---

template <Integer T>
FLAMBEAU_SHORT T bitwise_not(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return !x;
  } else {
    return static_cast<T>(~x);
  }
}

namespace detail {
/// A bool counts as an integer of its size.
template <Integer T>
using Bits = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
}  // namespace detail

/// 0 once every bit is shifted out, or for a negative count, which as an unsigned one is large.
template <Integer T>
FLAMBEAU_SHORT T left_shift(T a, T b) {
  using U = detail::Bits<T>;
  constexpr U kLast = 8 * sizeof(T) - 1;
  const U count = static_cast<U>(b);
  return count <= kLast ? static_cast<T>(static_cast<U>(a) << (count & kLast)) : T(0);
}
/// Keeps the sign; a count out of range shifts every bit out. AVX2 has no such shift of 64 bits:
/// the bits of a negative number are inverted before and behind it.
template <Integer T>
FLAMBEAU_SHORT T right_shift(T a, T b) {
  using U = detail::Bits<T>;
  constexpr U kLast = 8 * sizeof(T) - 1;
  const U count = static_cast<U>(b);
  const T sign = std::is_signed_v<T> && a < T(0) ? T(-1) : T(0);
  if constexpr (sizeof(T) < 8 || !std::is_signed_v<T>) {
    return count <= kLast ? static_cast<T>(a >> (count & kLast)) : sign;
  } else {
#if defined(__AVX512F__)
    return count <= kLast ? a >> (count & kLast) : sign;
#else
    return count <= kLast ? static_cast<T>(static_cast<U>(a ^ sign) >> (count & kLast)) ^ sign
                          : sign;
#endif
  }
}

// --- logarithms of sums ---

template <Real T>
FLAMBEAU_SHORT T logaddexp(T a, T b) {
  const T large = maximum(a, b);
  const T sum = large + log1p(exp(-abs(a - b)));
  return a == b && isinf(a) ? a : sum;  // inf - inf
}
template <Real T>
FLAMBEAU_SHORT T logaddexp2(T a, T b) {
  const T large = maximum(a, b);
  const T sum = large + log1p(exp2(-abs(a - b))) * T(1.4426950408889634);
  return a == b && isinf(a) ? a : sum;
}
template <Real T>
FLAMBEAU_SHORT T xlogy(T a, T b) {
  const T product = a * log(b);
  return (a == 0) & (b == b) ? T(0) : product;
}
template <Real T>
FLAMBEAU_SHORT T xlog1py(T a, T b) {
  const T product = a * log1p(b);
  return (a == 0) & (b == b) ? T(0) : product;
}

// --- real numbers as complex ones ---

template <Arithmetic T>
FLAMBEAU_SHORT T conj(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_SHORT T real(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_SHORT T imag(T) {
  return T(0);
}
/// 0 or pi; NaN for NaN.
template <Arithmetic T>
FLAMBEAU_SHORT auto angle(T x) {
  using R = std::conditional_t<Real<T>, T, double>;
  const R value = static_cast<R>(x);
  return value < 0 ? R(3.141592653589793) : value != value ? value : R(0);
}

}  // namespace FLAMBEAU_MATH
