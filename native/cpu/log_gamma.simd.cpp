#include "cpu/math.h"

#ifdef FLAMBEAU_LOG_GAMMA
#include <immintrin.h>

/// log |gamma(x)| of doubles: the vector forms that cpu/vector_functions.h promises.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The numbers that `of_positive` is for. Between the zeros that lie among negative ones the C
/// library is exact.
constexpr double kLow = 1e-300, kHigh = 1e300;

/// From 8 on by Stirling's series; below by the functional equation, from between 1 and 2.
FLAMBEAU_INLINE double of_positive(double x) {
  constexpr double kLogRootTwoPi = 0.9189385332046727;
  const bool is_far = x >= 8, is_small = x < 1;
  // What the functional equation is not for is its product from the start: one logarithm will do.
  double rest = is_far | is_small ? 1 : x, product = is_far | is_small ? x : 1;
#pragma GCC unroll 6
  for (int k = 0; k < 6; ++k) {
    const bool falls = rest >= 2;
    rest = falls ? rest - 1 : rest;
    product = falls ? product * rest : product;
  }
  const double log_of = ::log(product);
  const double base = math::detail::log_gamma_1p(is_small ? x : rest - 1);
  const double near = is_small ? base - log_of : base + log_of;
  const double r = 1 / x, z = r * r;
  const double series = r * math::detail::polynomial(z, 1. / 156, -691. / 360360, 1. / 1188,
                                                     -1. / 1680, 1. / 1260, -1. / 360, 1. / 12);
  const double far = (x - 0.5) * (log_of - 1) + (series + (kLogRootTwoPi - 0.5));
  return is_far ? far : near;
}

template <class Lanes>
FLAMBEAU_INLINE Lanes of_lanes(Lanes given) {
  constexpr int count = sizeof(Lanes) / sizeof(double);
  alignas(64) double x[count], result[count];
  memcpy(x, &given, sizeof x);
  double others = 0;
#pragma omp simd reduction(+ : others)
  for (int i = 0; i < count; ++i) {
    others += x[i] >= kLow && x[i] <= kHigh ? 0.0 : 1.0;
    result[i] = of_positive(x[i]);
  }
  if (FLAMBEAU_UNLIKELY(others > 0)) {
    for (int i = 0; i < count; ++i)
      if (!(x[i] >= kLow && x[i] <= kHigh)) result[i] = FLAMBEAU_LOG_GAMMA(x[i]);
  }
  memcpy(&given, result, sizeof x);
  return given;
}

}  // namespace

// Packages of operators call these too.
extern "C" FLAMBEAU_API double FLAMBEAU_LOG_GAMMA(double x) noexcept {
  int sign;
  return ::lgamma_r(x, &sign);
}

// As vectors of each width are named in the ABI of vector functions.
#define FLAMBEAU_TEXT_OF(name) #name
#define FLAMBEAU_TEXT(name) FLAMBEAU_TEXT_OF(name)
#define FLAMBEAU_LANES(Lanes, name, prefix)                     \
  extern "C" FLAMBEAU_API Lanes name(Lanes x) noexcept __asm__( \
      prefix FLAMBEAU_TEXT(FLAMBEAU_LOG_GAMMA));                \
  extern "C" FLAMBEAU_API Lanes name(Lanes x) noexcept { return of_lanes(x); }
FLAMBEAU_LANES(__m128d, log_gamma_of_2, "_ZGVbN2v_")
FLAMBEAU_LANES(__m256d, log_gamma_of_4, "_ZGVdN4v_")
#if defined(__AVX512F__)
FLAMBEAU_LANES(__m512d, log_gamma_of_8, "_ZGVeN8v_")
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
