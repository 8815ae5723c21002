#pragma once

/// Logarithms and the inverse hyperbolic functions, which are logarithms of 1 + x. Within 2 ULP.

#include "cpu/elementary/parts.h"

namespace FLAMBEAU_MATH {
namespace detail {

/// 2^exponent (1 + f) for a positive number of the normal range, 1 + f between the roots of 1/2
/// and 2. Exponents are put into the low bits of a number: not every instruction set converts.
template <class T>
struct LogParts {
  using Bits = typename Format<T>::Bits;
  static constexpr Bits kOne = std::bit_cast<Bits>(T(1));
  static constexpr Bits kRoot = std::bit_cast<Bits>(T(0.7071067811865476));
  static constexpr Bits kMask = (Bits(1) << Format<T>::kDigits) - 1;
  Bits moved;

  FLAMBEAU_INLINE explicit LogParts(T x) : moved(std::bit_cast<Bits>(x) + (kOne - kRoot)) {}
  FLAMBEAU_INLINE T exponent() const {
    const Bits whole = (moved >> Format<T>::kDigits) | std::bit_cast<Bits>(Format<T>::kWhole);
    return std::bit_cast<T>(whole) - (Format<T>::kWhole + Format<T>::kBias);
  }
  FLAMBEAU_INLINE T f() const { return std::bit_cast<T>((moved & kMask) + kRoot) - 1; }
  /// 2^-exponent, of all but the largest.
  FLAMBEAU_INLINE T inverse() const { return std::bit_cast<T>(2 * kOne - (moved & ~kMask)); }
};

/// x 2^shift for a shift of 64 below the normal range, and 0 in it: by masks of bits, as two
/// choices by one condition become two of the whole formula.
template <class T>
struct Raised {
  using Bits = typename Format<T>::Bits;
  T shift, value;
  FLAMBEAU_INLINE explicit Raised(T x) {
    const Bits over = std::bit_cast<Bits>(x) - std::bit_cast<Bits>(Format<T>::kLeast);
    const Bits mask = 0 - (over >> (8 * sizeof(T) - 1));
    shift = std::bit_cast<T>(mask & std::bit_cast<Bits>(T(64)));
    value =
        x * std::bit_cast<T>((mask & (Bits(64) << Format<T>::kDigits)) + std::bit_cast<Bits>(T(1)));
  }
};

/// log(1 + f) - f = f^3 P(f) - f^2 / 2, by a minimax P: relative errors of log(1 + f) 2^-30, 2^-59.
/// In parts that do not wait for each other. Of a float, or a vector.
template <class V>
FLAMBEAU_INLINE V log_rest(V f) {
  const V z = f * f;
  const V even =
      polynomial(z, 0.067529723f, 0.118821964f, 0.142205238f, 0.200020641f, 0.333333135f);
  const V odd = polynomial(z, -0.116707005f, -0.124060571f, -0.166680023f, -0.250000089f);
  return multiply_add(f * z, multiply_add(f, odd, even), -0.5f * z);
}
FLAMBEAU_INLINE double log_rest(double f) {
  const double z = f * f, w = z * z;
  const double p0 = polynomial(w, 0.05413978956814948, 0.0667491197254953, 0.0909093220964909,
                               0.1428571429301526, 0.33333333333333426);
  const double p1 = polynomial(w, -0.06265417467736224, -0.06269393247442054, -0.08333345412199329,
                               -0.12499999983595833, -0.24999999999999092);
  const double p2 = polynomial(w, 0.056921210090277514, 0.0581902779091472, 0.07691737465998479,
                               0.11111110559355732, 0.19999999999954124);
  const double p3 = polynomial(w, -0.02430091337546287, -0.053299149403665806, -0.0714202398528012,
                               -0.1000000035373893, -0.1666666666688583);
  const double low = multiply_add(f, p1, p0), high = multiply_add(f, p3, p2);
  return multiply_add(f * z, multiply_add(z, high, low), -0.5 * z);
}

/// What a logarithm is of the parts: exponent * `high` is exact, `unit` and `unit_rest` are
/// log(e) to its base, in two parts.
template <class T>
struct Base {
  T high, low, unit, unit_rest;
};
template <class T>
struct Bases;
template <>
struct Bases<float> {
  static constexpr Base<float> e{0.693359375f, -2.12194440e-4f, 1, 0};
  static constexpr Base<float> two{1, 0, 1.44269502f, 1.92596303e-08f};
  static constexpr Base<float> ten{0.30078125f, 2.48745663981e-4f, 0.434294492f, -1.010305e-08f};
};
template <>
struct Bases<double> {
  static constexpr Base<double> e{0.6931471803691238, 1.9082149292705877e-10, 1, 0};
  static constexpr Base<double> two{1, 0, 1.4426950408889634, 2.0355273740931033e-17};
  static constexpr Base<double> ten{0.30102999566361177, 3.694239077158931e-13, 0.4342944819032518,
                                    1.098319650216765e-17};
};

/// Of numbers, or a vector of them.
template <class V, class T>
FLAMBEAU_INLINE V log_of(V exponent, V f, const Base<T>& base) {
  const V rest = log_rest(f);
  if (base.unit == 1)
    return multiply_add(exponent, base.high, f + multiply_add(exponent, base.low, rest));
  const V small = multiply_add(rest, base.unit, exponent * base.low);
  const V fraction = multiply_add(f, base.unit, multiply_add(f, base.unit_rest, small));
  return multiply_add(exponent, base.high, fraction);
}

/// Of a number of the normal range.
template <class T>
FLAMBEAU_INLINE T log_of_normal(T x) {
  const LogParts<T> parts(x);
  return log_of(parts.exponent(), parts.f(), Bases<T>::e);
}

template <class T>
FLAMBEAU_INLINE T log_to(T x, const Base<T>& base) {
  const Raised<T> raised(x);
  const LogParts<T> parts(raised.value);
  const T exponent = parts.exponent() - raised.shift;
  T value = log_of(exponent, parts.f(), base);
  value = x < kInfinity<T> ? value : x;
  value = x == 0 ? -kInfinity<T> : value;
  return x < 0 ? kNaN<T> : value;
}

/// From here on x * x may overflow, and adding 1 to it changes nothing.
template <class T>
inline constexpr T kFar = sizeof(T) == 4 ? T(0x1p30) : T(0x1p60);
/// log(1 + x) + `more`, which is 0 unless x is large. What 1 + x is rounded by is given back.
template <class T>
FLAMBEAU_INLINE T log_of_one_and(T x, T more) {
  const T large = x > 1 ? x : T(1), small = x > 1 ? T(1) : x;
  const T sum = 1 + x, lost = small - (sum - large);
  const LogParts<T> parts(sum);
  const T f = sum < kFar<T> ? multiply_add(lost, parts.inverse(), parts.f()) : parts.f();
  T value = log_of(parts.exponent(), f, Bases<T>::e) + more;
  value = x < kInfinity<T> ? value : x;
  value = x == -1 ? -kInfinity<T> : value;
  value = x < -1 ? kNaN<T> : value;
  return magnitude(x) < Format<T>::kLeast ? x : value;
}

template <class T>
inline constexpr T kLogTwo = static_cast<T>(0.6931471805599453);

template <class T>
FLAMBEAU_INLINE T asinh_of(T given) {
  const T x = magnitude(given);
  const bool is_far = x > kFar<T>;
  const T near = is_far ? T(0) : x, z = near * near;
  const T grown = near + z / (1 + root(z + 1));
  const T value = log_of_one_and(is_far ? x : grown, is_far ? kLogTwo<T> : T(0));
  return with_sign(x == x ? value : x, given);
}
template <class T>
FLAMBEAU_INLINE T acosh_of(T x) {
  const bool is_far = x > kFar<T>;
  const T less = (is_far ? T(1) : x) - 1;
  const T grown = less + root(less * (less + 2));
  const T value = log_of_one_and(is_far ? x : grown, is_far ? kLogTwo<T> : T(0));
  return x < 1 ? kNaN<T> : value;
}
template <class T>
FLAMBEAU_INLINE T atanh_of(T given) {
  const T x = magnitude(given);
  return with_sign(T(0.5) * log_of_one_and(2 * x / (1 - x), T(0)), given);
}

}  // namespace detail

#define FLAMBEAU_BOTH(name, ...)                                      \
  FLAMBEAU_INLINE float name(float x) { return detail::__VA_ARGS__; } \
  FLAMBEAU_INLINE double name(double x) { return detail::__VA_ARGS__; }
FLAMBEAU_BOTH(log, log_to(x, detail::Bases<decltype(x)>::e))
FLAMBEAU_BOTH(log2, log_to(x, detail::Bases<decltype(x)>::two))
FLAMBEAU_BOTH(log10, log_to(x, detail::Bases<decltype(x)>::ten))
FLAMBEAU_BOTH(log1p, log_of_one_and(x, decltype(x)(0)))
FLAMBEAU_BOTH(asinh, asinh_of(x))
FLAMBEAU_BOTH(acosh, acosh_of(x))
FLAMBEAU_BOTH(atanh, atanh_of(x))
#undef FLAMBEAU_BOTH

#if defined(FLAMBEAU_LANES_OF) && defined(__AVX512F__)
/// AVX-512 has instructions for the parts of floats, which vectors of their own take
/// (logarithms.simd.cpp).
namespace alone {
FLAMBEAU_INLINE float log(float x) { return FLAMBEAU_LANES_OF(log, float)(x); }
FLAMBEAU_INLINE float log2(float x) { return FLAMBEAU_LANES_OF(log2, float)(x); }
FLAMBEAU_INLINE float log10(float x) { return FLAMBEAU_LANES_OF(log10, float)(x); }
FLAMBEAU_INLINE float logit(float x) { return FLAMBEAU_LANES_OF(logit, float)(x); }
}  // namespace alone
#endif

}  // namespace FLAMBEAU_MATH
