#pragma once

/// Tells the compiler that glibc has vector forms of these functions (libmvec, since glibc 2.35),
/// so that `#pragma omp simd` loops through them vectorise. Elsewhere they are called one by one.
/// elementary/ has vectors of its own for some, by the same names.

#include <cmath>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define FLAMBEAU_VECTOR __attribute__((simd("notinbranch"), const))
#define FLAMBEAU_VECTOR_1(name)                  \
  FLAMBEAU_VECTOR float name##f(float) noexcept; \
  FLAMBEAU_VECTOR double name(double) noexcept;
#define FLAMBEAU_VECTOR_2(name)                         \
  FLAMBEAU_VECTOR float name##f(float, float) noexcept; \
  FLAMBEAU_VECTOR double name(double, double) noexcept;
extern "C" {
FLAMBEAU_VECTOR_1(exp)
FLAMBEAU_VECTOR_1(exp2)
FLAMBEAU_VECTOR_1(expm1)
FLAMBEAU_VECTOR_1(log)
FLAMBEAU_VECTOR_1(log2)
FLAMBEAU_VECTOR_1(log10)
FLAMBEAU_VECTOR_1(log1p)
FLAMBEAU_VECTOR_1(sin)
FLAMBEAU_VECTOR_1(cos)
FLAMBEAU_VECTOR_1(tan)
FLAMBEAU_VECTOR_1(asin)
FLAMBEAU_VECTOR_1(acos)
FLAMBEAU_VECTOR_1(atan)
FLAMBEAU_VECTOR_1(sinh)
FLAMBEAU_VECTOR_1(cosh)
FLAMBEAU_VECTOR_1(tanh)
FLAMBEAU_VECTOR_1(asinh)
FLAMBEAU_VECTOR_1(acosh)
FLAMBEAU_VECTOR_1(atanh)
FLAMBEAU_VECTOR_1(erf)
FLAMBEAU_VECTOR_1(erfc)
FLAMBEAU_VECTOR_2(atan2)
FLAMBEAU_VECTOR_2(pow)
FLAMBEAU_VECTOR_2(hypot)
#if defined(__AVX2__)
#define FLAMBEAU_JOINED_OF(a, b) a##b
#define FLAMBEAU_JOINED(a, b) FLAMBEAU_JOINED_OF(a, b)
// Functions whose lanes choose a branch: cpu/functions of what is generated, log_gamma.simd.cpp and
// polynomials.simd.cpp. Those with instructions of their own: elementary/logarithms.simd.cpp.
#define FLAMBEAU_LANES_OF(name, T) FLAMBEAU_JOINED(flambeau_##name##_##T##_, FLAMBEAU_ISA)
FLAMBEAU_VECTOR double FLAMBEAU_LANES_OF(log_gamma, double)(double) noexcept;
FLAMBEAU_VECTOR float FLAMBEAU_LANES_OF(log_gamma, float)(float) noexcept;
FLAMBEAU_VECTOR double FLAMBEAU_LANES_OF(polynomial, double)(double, double, double) noexcept;
FLAMBEAU_VECTOR float FLAMBEAU_LANES_OF(polynomial, float)(float, float, float) noexcept;
#if defined(__AVX512F__)
FLAMBEAU_VECTOR float FLAMBEAU_LANES_OF(log, float)(float) noexcept;
FLAMBEAU_VECTOR float FLAMBEAU_LANES_OF(log2, float)(float) noexcept;
FLAMBEAU_VECTOR float FLAMBEAU_LANES_OF(log10, float)(float) noexcept;
FLAMBEAU_VECTOR float FLAMBEAU_LANES_OF(logit, float)(float) noexcept;
#endif
#endif
}
#undef FLAMBEAU_VECTOR_1
#undef FLAMBEAU_VECTOR_2
#endif
#endif
