#pragma once

/// Vector forms of functions of the C library, by the names that the ABI of vector functions gives
/// them: loops of this library call these, and not the C library's. Not exported.

#include <immintrin.h>

#include "core/base/macros.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Whether the sign of one is set.
template <int count>
FLAMBEAU_INLINE bool any_negative(const double* x) {
  int found = 0;
  for (int i = 0; i + 4 <= count; i += 4) found |= _mm256_movemask_pd(_mm256_load_pd(x + i));
  return found != 0;
}
template <int count>
FLAMBEAU_INLINE bool any_negative(const float* x) {
  int found = 0;
  for (int i = 0; i + 8 <= count; i += 8) found |= _mm256_movemask_ps(_mm256_load_ps(x + i));
  return found != 0;
}

/// Function::of_all(arguments..., results), of as many numbers as a vector has.
template <class Function, class T, class Lanes>
FLAMBEAU_INLINE Lanes of_vector(Lanes given) {
  constexpr int count = sizeof(Lanes) / sizeof(T);
  alignas(64) T x[count], result[count];
  memcpy(x, &given, sizeof x);
  Function::template of_all<count>(x, result);
  memcpy(&given, result, sizeof result);
  return given;
}
template <class Function, class T, class Lanes>
FLAMBEAU_INLINE Lanes of_vectors(Lanes first, Lanes second) {
  constexpr int count = sizeof(Lanes) / sizeof(T);
  alignas(64) T a[count], b[count], result[count];
  memcpy(a, &first, sizeof a);
  memcpy(b, &second, sizeof b);
  Function::template of_all<count>(a, b, result);
  memcpy(&first, result, sizeof result);
  return first;
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA

#if defined(__AVX512F__)
#define FLAMBEAU_FLOATS(form, name, Function) form(__m512, float, _ZGVeN16v, name##f, Function)
#define FLAMBEAU_DOUBLES(form, name, Function) form(__m512d, double, _ZGVeN8v, name, Function)
#else
#define FLAMBEAU_FLOATS(form, name, Function) form(__m256, float, _ZGVdN8v, name##f, Function)
#define FLAMBEAU_DOUBLES(form, name, Function) form(__m256d, double, _ZGVdN4v, name, Function)
#endif
#define FLAMBEAU_ONE(Lanes, T, prefix, name, Function)                              \
  extern "C" [[gnu::visibility("hidden")]] Lanes prefix##_##name(Lanes x) noexcept; \
  extern "C" Lanes prefix##_##name(Lanes x) noexcept { return of_vector<Function, T>(x); }
#define FLAMBEAU_TWO(Lanes, T, prefix, name, Function)                                        \
  extern "C" [[gnu::visibility("hidden")]] Lanes prefix##v_##name(Lanes a, Lanes b) noexcept; \
  extern "C" Lanes prefix##v_##name(Lanes a, Lanes b) noexcept {                              \
    return of_vectors<Function, T>(a, b);                                                     \
  }

/// A vector of FLAMBEAU_LANES_OF(function, T) by run(x), as those of its width are named in the ABI
/// of vector functions. Packages of operators call these too.
#define FLAMBEAU_TEXT_OF(name) #name
#define FLAMBEAU_TEXT(name) FLAMBEAU_TEXT_OF(name)
#define FLAMBEAU_LANES(function, T, Lanes, name, prefix, run)   \
  extern "C" FLAMBEAU_API Lanes name(Lanes x) noexcept __asm__( \
      prefix FLAMBEAU_TEXT(FLAMBEAU_LANES_OF(function, T)));    \
  extern "C" FLAMBEAU_API Lanes name(Lanes x) noexcept { return run(x); }
