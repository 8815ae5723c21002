#pragma once

/// The scalar functions that generated formulas call, for device code: those of core/math/. Dear
/// functions on double are calls, not inlined: formulas over them are bound by arithmetic, and
/// compile in a fraction of the time. Most functions serve the host too, where formulas compute
/// their constants.

#include <cuda_runtime.h>

#include "core/types/element_types.h"

#define FLAMBEAU_MATH flambeau::cuda::math
#define FLAMBEAU_SHORT __host__ __device__ __forceinline__
#define FLAMBEAU_DEAR __host__ __device__ __noinline__ inline
#define FLAMBEAU_DEFINED FLAMBEAU_SHORT
#define FLAMBEAU_LONG __host__ __device__ __noinline__ inline

#include "core/math/c_library.h"

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

FLAMBEAU_C_1(exp)
FLAMBEAU_C_1(exp2)
FLAMBEAU_C_1(expm1)
FLAMBEAU_C_1(log)
FLAMBEAU_C_1(log2)
FLAMBEAU_C_1(log10)
FLAMBEAU_C_1(log1p)
FLAMBEAU_C_1(sin)
FLAMBEAU_C_1(cos)
FLAMBEAU_C_1(tan)
FLAMBEAU_C_1(asin)
FLAMBEAU_C_1(acos)
FLAMBEAU_C_1(atan)
FLAMBEAU_C_1(sinh)
FLAMBEAU_C_1(cosh)
FLAMBEAU_C_1(tanh)
FLAMBEAU_C_1(asinh)
FLAMBEAU_C_1(acosh)
FLAMBEAU_C_1(atanh)
FLAMBEAU_C_1(erf)
FLAMBEAU_C_1(erfc)
FLAMBEAU_SHORT float sqrt(float x) { return ::sqrtf(x); }
FLAMBEAU_SHORT double sqrt(double x) { return ::sqrt(x); }
FLAMBEAU_C_2(atan2)
FLAMBEAU_C_2(hypot)
FLAMBEAU_DEAR float pow(float a, float b) { return ::powf(a, b); }
FLAMBEAU_DEAR double pow(double a, double b) { return ::pow(a, b); }
FLAMBEAU_SHORT float sigmoid(float x) { return 1 / (1 + exp(-x)); }
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
FLAMBEAU_LONG float lgamma(float x) { return ::lgammaf(x); }
FLAMBEAU_LONG double lgamma(double x) { return ::lgamma(x); }
FLAMBEAU_LONG float erfinv(float x) { return ::erfinvf(x); }

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
