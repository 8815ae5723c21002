#include "cpu/math.h"

#include "core/math/special.h"

#ifdef FLAMBEAU_LANES_OF
#include "cpu/elementary/vectors.h"

/// log |gamma(x)|: the vector forms that cpu/vector_functions.h promises.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Numbers that `of_positive` has by logarithms of the C library, of which tables are faster, but
/// take what is out of the normal range one by one.
constexpr double kLow = 1e-300, kHigh = 1e300;

/// From 8 on by Stirling's series; below by the functional equation, from between 1 and 2.
template <class Log>
FLAMBEAU_INLINE double of_positive(double x, const Log& log) {
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
  const double log_of = log(product);
  const double base = math::detail::log_gamma_1p(is_small ? x : rest - 1);
  const double near = is_small ? base - log_of : base + log_of;
  const double r = 1 / x, z = r * r;
  const double series = r * math::detail::polynomial(z, 1. / 156, -691. / 360360, 1. / 1188,
                                                     -1. / 1680, 1. / 1260, -1. / 360, 1. / 12);
  const double far = (x - 0.5) * (log_of - 1) + (series + (kLogRootTwoPi - 0.5));
  return is_far ? far : near;
}

/// Of any number. Below 0 by reflection: gamma(-x) gamma(x) = -pi / (x sin(pi x)). `is_rest`: the
/// result is what is left of much larger numbers, beside one of the zeros among negative numbers,
/// where the C library is exact.
FLAMBEAU_INLINE double of_any(double given, double& is_rest) {
  constexpr double kPi = 3.141592653589793, kTiny = 1e-17, kLargest = 1e308;
  const auto log = [](double x) { return math::log(x); };
  const double x = math::detail::magnitude(given), value = of_positive(x, log);
  const double reflected = log(kPi / (x * math::detail::sine_of_pi(x)));
  // What is next to 0 has a logarithm of its own that does not know the sign.
  const bool is_reflected = (given < 0) & (x > kTiny) & (x < math::detail::kInfinity<double>);
  const double finite = value < kLargest ? value : kLargest;  // at a pole
  const double found = is_reflected ? reflected - finite : value;
  const double size = math::detail::magnitude(reflected) + math::detail::magnitude(finite);
  is_rest = is_reflected & (math::detail::magnitude(found) < 0.25 * size) ? 1 : 0;
  return found;
}

struct DoubleLogGamma {
  template <int count>
  static FLAMBEAU_INLINE void of_all(const double* x, double* result) {
    double others = 0;
#pragma omp simd reduction(+ : others)
    for (int i = 0; i < count; ++i) others += x[i] >= kLow && x[i] <= kHigh ? 0.0 : 1.0;
    if (FLAMBEAU_LIKELY(others == 0)) {
#pragma omp simd
      for (int i = 0; i < count; ++i)
        result[i] = of_positive(x[i], [](double product) { return ::log(product); });
      return;
    }
    alignas(64) double is_rest[count];
#pragma omp simd
    for (int i = 0; i < count; ++i) result[i] = of_any(x[i], is_rest[i]);
    for (int i = 0; i < count; ++i)
      if (is_rest[i] != 0) result[i] = FLAMBEAU_LANES_OF(log_gamma, double)(x[i]);
  }
};

/// Most often no number is reflected.
struct SingleLogGamma {
  template <int count>
  static FLAMBEAU_INLINE void of_all(const float* x, float* result) {
    float reflected = 0;
#pragma omp simd reduction(+ : reflected)
    for (int i = 0; i < count; ++i) reflected += x[i] >= 0.5f ? 0.0f : 1.0f;
    if (reflected == 0) {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = math::detail::log_gamma_of<false>(x[i]);
    } else {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = math::detail::log_gamma_of<true>(x[i]);
    }
  }
};

}  // namespace

// Packages of operators call these too.
extern "C" FLAMBEAU_API double FLAMBEAU_LANES_OF(log_gamma, double)(double x) noexcept {
  int sign;
  return ::lgamma_r(x, &sign);
}
extern "C" FLAMBEAU_API float FLAMBEAU_LANES_OF(log_gamma, float)(float x) noexcept {
  return math::detail::log_gamma_of<true>(x);
}

template <class Function, class T, class Lanes>
FLAMBEAU_INLINE Lanes lanes(Lanes x) {
  return of_vector<Function, T>(x);
}
#define FLAMBEAU_LOG_GAMMA(T, Lanes, name, prefix, Function) \
  FLAMBEAU_LANES(log_gamma, T, Lanes, name, prefix, (lanes<Function, T>))
FLAMBEAU_LOG_GAMMA(double, __m128d, log_gamma_of_2, "_ZGVbN2v_", DoubleLogGamma)
FLAMBEAU_LOG_GAMMA(double, __m256d, log_gamma_of_4, "_ZGVdN4v_", DoubleLogGamma)
FLAMBEAU_LOG_GAMMA(float, __m128, log_gamma_of_4_floats, "_ZGVbN4v_", SingleLogGamma)
FLAMBEAU_LOG_GAMMA(float, __m256, log_gamma_of_8_floats, "_ZGVdN8v_", SingleLogGamma)
#if defined(__AVX512F__)
FLAMBEAU_LOG_GAMMA(double, __m512d, log_gamma_of_8, "_ZGVeN8v_", DoubleLogGamma)
FLAMBEAU_LOG_GAMMA(float, __m512, log_gamma_of_16_floats, "_ZGVeN16v_", SingleLogGamma)
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
