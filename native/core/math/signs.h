#pragma once

/// Signs, choices, and what is no number. The room has `hypot`.

#include "core/math/numbers.h"
#include FLAMBEAU_OWN(signs)

namespace FLAMBEAU_MATH {

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
/// x / |x|, 0 for 0.
FLAMBEAU_COMPLEX sign(complex<T> x) {
  const T modulus = abs(x);
  return modulus == 0 ? complex<T>(0) : complex<T>(x.re / modulus, x.im / modulus);
}

}  // namespace FLAMBEAU_MATH
