#pragma once

/// Remainders, and the parts of a number.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {

namespace detail {

/// A kernel cannot raise: an integer divided by zero gives 0.
template <class T>
FLAMBEAU_SHORT T zero_divisor(const char*) {
  return T(0);
}

inline constexpr bool kFuses = true;
FLAMBEAU_SHORT double multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

FLAMBEAU_SHORT int trailing_zeros(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

}  // namespace detail

FLAMBEAU_LONG float fmod(float a, float b) { return ::fmodf(a, b); }
FLAMBEAU_LONG double fmod(double a, double b) { return ::fmod(a, b); }

/// The power of 2 that x is a fraction in [0.5, 1) of; 0 of what is none.
template <class T>
FLAMBEAU_LONG T binary_exponent(T x) {
  if (!(x - x == 0)) return T(0);
  int exponent = 0;
  (void)::frexp(x, &exponent);
  return static_cast<T>(exponent);
}
/// x without that power.
template <class T>
FLAMBEAU_LONG T binary_fraction(T x) {
  if (!(x - x == 0)) return x;
  int exponent = 0;
  return static_cast<T>(::frexp(x, &exponent));
}
FLAMBEAU_SHORT float nextafter(float a, float b) { return ::nextafterf(a, b); }
FLAMBEAU_LONG double nextafter(double a, double b) { return ::nextafter(a, b); }

}  // namespace FLAMBEAU_MATH
