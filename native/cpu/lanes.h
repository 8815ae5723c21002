#pragma once

/// The vector forms of functions that choose between branches, from a description of them:
///     count                    how many branches there are
///     whole(x...)              the function
///     chosen(x...)             the number of the branch that it takes, as a number of its type
///     value<branch>(x...)      what that branch gives
/// A branch is computed, for all lanes, where one of them takes it.

#include <immintrin.h>

#include <utility>

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Bit i says whether number i is `branch`.
template <int count>
FLAMBEAU_INLINE unsigned takers_of(const double* chosen, double branch) {
  if constexpr (count == 2) {
    const __m128d equal = _mm_cmpeq_pd(_mm_load_pd(chosen), _mm_set1_pd(branch));
    return static_cast<unsigned>(_mm_movemask_pd(equal));
  } else {
    unsigned takers = 0;
    for (int i = 0; i < count; i += 4) {
      const __m256d numbers = _mm256_load_pd(chosen + i);
      const __m256d equal = _mm256_cmp_pd(numbers, _mm256_set1_pd(branch), _CMP_EQ_OQ);
      takers |= static_cast<unsigned>(_mm256_movemask_pd(equal)) << i;
    }
    return takers;
  }
}

/// The numbers themselves where all take the branch, else a copy in which one of them stands for
/// those that do not: numbers that it is not for could lead to what is slow.
template <int branch, int count>
struct Taken {
  alignas(64) double copy[count];
  FLAMBEAU_INLINE const double* of(unsigned takers, const double* chosen, const double* x) {
    if (takers == (1u << count) - 1) return x;
    const double one = x[__builtin_ctz(takers)];
#pragma omp simd
    for (int i = 0; i < count; ++i) copy[i] = chosen[i] == branch ? x[i] : one;
    return copy;
  }
};

template <class Function, int branch, int count, class... Numbers>
FLAMBEAU_INLINE void take_branch(double* result, const double* chosen, const Numbers*... x) {
  const unsigned takers = takers_of<count>(chosen, branch);
  if (takers == 0) return;
  alignas(64) double found[count];
  [&](const auto*... taken) __attribute__((always_inline)) {
#pragma omp simd
    for (int i = 0; i < count; ++i) found[i] = Function::template value<branch>(taken[i]...);
  }
  (Taken<branch, count>().of(takers, chosen, x)...);
#pragma omp simd
  for (int i = 0; i < count; ++i) result[i] = chosen[i] == branch ? found[i] : result[i];
}

/// Of as many numbers. More than a vector holds are on their way at the same time, which hides the
/// latency of their steps.
template <class Function, int count, class... More>
FLAMBEAU_INLINE void of_lanes(double* result, const More*... x) {
  alignas(64) double chosen[count];
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    chosen[i] = Function::chosen(x[i]...);
    result[i] = chosen[i];  // each is replaced
  }
  [&]<int... branches>(std::integer_sequence<int, branches...>) {
    (take_branch<Function, branches, count>(result, chosen, x...), ...);
  }
  (std::make_integer_sequence<int, Function::count>());
}

/// Vectors as numbers, and back, as wholes: what is written in parts and read at once waits for the
/// cache.
FLAMBEAU_INLINE void spread(__m128d x, double* numbers) { _mm_store_pd(numbers, x); }
FLAMBEAU_INLINE void spread(__m256d x, double* numbers) { _mm256_store_pd(numbers, x); }
FLAMBEAU_INLINE void spread(__m128 x, double* numbers) { spread(_mm256_cvtps_pd(x), numbers); }
FLAMBEAU_INLINE void gather(const double* numbers, __m128d& x) { x = _mm_load_pd(numbers); }
FLAMBEAU_INLINE void gather(const double* numbers, __m256d& x) { x = _mm256_load_pd(numbers); }
FLAMBEAU_INLINE void gather(const double* numbers, __m128& x) {
  x = _mm256_cvtpd_ps(_mm256_load_pd(numbers));
}
FLAMBEAU_INLINE void spread(__m256 x, double* numbers) {
  spread(_mm256_castps256_ps128(x), numbers);
  spread(_mm256_extractf128_ps(x, 1), numbers + 4);
}
FLAMBEAU_INLINE void gather(const double* numbers, __m256& x) {
  __m128 low, high;
  gather(numbers, low);
  gather(numbers + 4, high);
  x = _mm256_set_m128(high, low);
}
#if defined(__AVX512F__)
FLAMBEAU_INLINE void spread(__m512d x, double* numbers) { _mm512_store_pd(numbers, x); }
FLAMBEAU_INLINE void gather(const double* numbers, __m512d& x) { x = _mm512_load_pd(numbers); }
FLAMBEAU_INLINE void spread(__m512 x, double* numbers) {
  spread(_mm512_maskz_extractf32x8_ps(0xff, x, 0), numbers);
  spread(_mm512_maskz_extractf32x8_ps(0xff, x, 1), numbers + 8);
}
FLAMBEAU_INLINE void gather(const double* numbers, __m512& x) {
  __m256 low, high;
  gather(numbers, low);
  gather(numbers + 8, high);
  x = _mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(low), high, 1);
}
#endif

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA

// As vectors of each width are named in the ABI of vector functions. Packages of operators call
// these too.
#define FLAMBEAU_TEXT_OF(name) #name
#define FLAMBEAU_TEXT(name) FLAMBEAU_TEXT_OF(name)
#define FLAMBEAU_LANES_1_OF(T, Lanes, width, count, name, Function)                \
  extern "C" FLAMBEAU_API Lanes name##_of_##width##_##T(Lanes x) noexcept __asm__( \
      "_ZGV" #width "v_" FLAMBEAU_TEXT(FLAMBEAU_LANES_OF(name, T)));               \
  extern "C" FLAMBEAU_API Lanes name##_of_##width##_##T(Lanes x) noexcept {        \
    alignas(64) double result[count], numbers[count];                              \
    spread(x, numbers);                                                            \
    of_lanes<Function, count>(result, numbers);                                    \
    gather(result, x);                                                             \
    return x;                                                                      \
  }
#define FLAMBEAU_LANES_2_OF(T, Lanes, width, count, name, Function)                         \
  extern "C" FLAMBEAU_API Lanes name##_of_##width##_##T(Lanes x, Lanes y) noexcept __asm__( \
      "_ZGV" #width "vv_" FLAMBEAU_TEXT(FLAMBEAU_LANES_OF(name, T)));                       \
  extern "C" FLAMBEAU_API Lanes name##_of_##width##_##T(Lanes x, Lanes y) noexcept {        \
    alignas(64) double result[count], numbers[count], others[count];                        \
    spread(x, numbers);                                                                     \
    spread(y, others);                                                                      \
    of_lanes<Function, count>(result, numbers, others);                                     \
    gather(result, x);                                                                      \
    return x;                                                                               \
  }
#if defined(__AVX512F__)
#define FLAMBEAU_WIDTHS(form, name, Function)                                                   \
  form(double, __m128d, bN2, 2, name, Function) form(double, __m256d, dN4, 4, name, Function)   \
      form(double, __m512d, eN8, 8, name, Function) form(float, __m128, bN4, 4, name, Function) \
          form(float, __m256, dN8, 8, name, Function)                                           \
              form(float, __m512, eN16, 16, name, Function)
#else
#define FLAMBEAU_WIDTHS(form, name, Function)                                                 \
  form(double, __m128d, bN2, 2, name, Function) form(double, __m256d, dN4, 4, name, Function) \
      form(float, __m128, bN4, 4, name, Function) form(float, __m256, dN8, 8, name, Function)
#endif
#define FLAMBEAU_LANES_1(name, Function)                                              \
  extern "C" FLAMBEAU_API double FLAMBEAU_LANES_OF(name, double)(double x) noexcept { \
    return Function::whole(x);                                                        \
  }                                                                                   \
  extern "C" FLAMBEAU_API float FLAMBEAU_LANES_OF(name, float)(float x) noexcept {    \
    return static_cast<float>(Function::whole(static_cast<double>(x)));               \
  }                                                                                   \
  FLAMBEAU_WIDTHS(FLAMBEAU_LANES_1_OF, name, Function)
#define FLAMBEAU_LANES_2(name, Function)                                                        \
  extern "C" FLAMBEAU_API double FLAMBEAU_LANES_OF(name, double)(double x, double y) noexcept { \
    return Function::whole(x, y);                                                               \
  }                                                                                             \
  extern "C" FLAMBEAU_API float FLAMBEAU_LANES_OF(name, float)(float x, float y) noexcept {     \
    return static_cast<float>(Function::whole(static_cast<double>(x), static_cast<double>(y))); \
  }                                                                                             \
  FLAMBEAU_WIDTHS(FLAMBEAU_LANES_2_OF, name, Function)
