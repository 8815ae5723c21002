#pragma once

// Vectors of the widest register of the instruction set that the including file is compiled for.
// Include only from *.simd.cpp files.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "cpu/linalg/gemm_kernel.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes), may_alias));
  typedef T unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* source) {
  return *reinterpret_cast<const typename VectorOf<T>::unaligned*>(source);
}
/// The same for what several products read: of 64 bytes a processor reads no more vectors than it
/// multiplies, and gcc reads such again for each product.
template <class T>
[[gnu::always_inline]] inline Vector<T> load_once(const T* source) {
  Vector<T> value = load(source);
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#endif
  return value;
}
template <class T>
[[gnu::always_inline]] inline void store(T* destination, Vector<T> value) {
  *reinterpret_cast<typename VectorOf<T>::unaligned*>(destination) = value;
}
template <class T>
[[gnu::always_inline]] inline Vector<T> splat(T value) {
  return value - Vector<T>{};  // minus keeps the sign of zero
}

/// a * b + c, rounded once where the instruction set can.
template <class T>
[[gnu::always_inline]] inline Vector<T> multiply_add(Vector<T> a, Vector<T> b, Vector<T> c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) return (Vector<T>)_mm512_fmadd_ps(a, b, c);
  if constexpr (std::is_same_v<T, double>) return (Vector<T>)_mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  if constexpr (std::is_same_v<T, float>) return (Vector<T>)_mm256_fmadd_ps(a, b, c);
  if constexpr (std::is_same_v<T, double>) return (Vector<T>)_mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>)
    return (Vector<T>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
  if constexpr (std::is_same_v<T, double>)
    return (Vector<T>)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#endif
  return a * b + c;
}

/// c - a * b, rounded once where the instruction set can.
template <class T>
[[gnu::always_inline]] inline Vector<T> subtract_product(Vector<T> c, Vector<T> a, Vector<T> b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) return (Vector<T>)_mm512_fnmadd_ps(a, b, c);
  if constexpr (std::is_same_v<T, double>) return (Vector<T>)_mm512_fnmadd_pd(a, b, c);
#elif defined(__FMA__)
  if constexpr (std::is_same_v<T, float>) return (Vector<T>)_mm256_fnmadd_ps(a, b, c);
  if constexpr (std::is_same_v<T, double>) return (Vector<T>)_mm256_fnmadd_pd(a, b, c);
#endif
  return multiply_add<T>(-a, b, c);
}

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
/// c + both products of each pair: rounded to float after each, subnormal numbers taken as zero.
template <class T>
requires std::is_same_v<T, Bfloat16Pair>
[[gnu::always_inline]] inline Vector<float> multiply_add(Vector<T> a, Vector<T> b,
                                                         Vector<float> c) {
  return (Vector<float>)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/// Writes the first `count` lanes, at most all: in pieces, as a masked store takes some AMD
/// processors 15 to 20 cycles.
template <class T>
[[gnu::always_inline]] inline void store_pieces(T* destination, Vector<T> value, int64_t count) {
  if (count == kLanes<T>) return store(destination, value);
  const int64_t words = count * static_cast<int64_t>(sizeof(T) / 4);
  char* to = reinterpret_cast<char*>(destination);
  __m128i piece = _mm256_castsi256_si128((__m256i)value);
  if (words & 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), piece);
    piece = _mm256_extracti128_si256((__m256i)value, 1);
    to += 16;
  }
  if (words & 2) {
    _mm_storeu_si64(to, piece);
    piece = _mm_unpackhi_epi64(piece, piece);
    to += 8;
  }
  if (sizeof(T) == 4 && words & 1) _mm_storeu_si32(to, piece);
}
#endif

/// `count` lanes from lane `first` on, 0 <= count <= kLanes - first; elements of 4 or 8 bytes.
template <class T>
struct Mask {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__AVX512F__)
  __mmask16 bits;
  explicit Mask(int64_t count, int64_t first = 0)
      : bits(static_cast<__mmask16>(((1u << count) - 1) << first)) {}
  [[gnu::always_inline]] Vector<T> load(const T* source) const {
    if constexpr (sizeof(T) == 4) return (Vector<T>)_mm512_maskz_loadu_epi32(bits, source);
    if constexpr (sizeof(T) == 8)
      return (Vector<T>)_mm512_maskz_loadu_epi64(static_cast<__mmask8>(bits), source);
  }
  [[gnu::always_inline]] void store(T* destination, Vector<T> value) const {
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(destination, bits, (__m512i)value);
    if constexpr (sizeof(T) == 8)
      _mm512_mask_storeu_epi64(destination, static_cast<__mmask8>(bits), (__m512i)value);
  }
#elif defined(__AVX2__)
  __m256i lanes;
  int64_t leading;  // their number where they are the first, else 0
  explicit Mask(int64_t count, int64_t first = 0) : leading(first ? 0 : count) {
    alignas(64) static constexpr int32_t ones[24] = {0,  0,  0,  0,  0,  0,  0,  0,
                                                     -1, -1, -1, -1, -1, -1, -1, -1};
    constexpr int64_t words = sizeof(T) / 4;
    const auto window = [](int64_t begin) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones + begin));
    };
    lanes = window(16 - (first + count) * words);  // all up to the last
    if (first) lanes = _mm256_and_si256(lanes, window(8 - first * words));
  }
  [[gnu::always_inline]] Vector<T> load(const T* source) const {
    if constexpr (sizeof(T) == 4)
      return (Vector<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(source), lanes);
    if constexpr (sizeof(T) == 8)
      return (Vector<T>)_mm256_maskload_epi64(reinterpret_cast<const long long*>(source), lanes);
  }
  [[gnu::always_inline]] void store(T* destination, Vector<T> value) const {
    if (leading) return store_pieces(destination, value, leading);
    if constexpr (sizeof(T) == 4)
      _mm256_maskstore_epi32(reinterpret_cast<int*>(destination), lanes, (__m256i)value);
    if constexpr (sizeof(T) == 8)
      _mm256_maskstore_epi64(reinterpret_cast<long long*>(destination), lanes, (__m256i)value);
  }
#else
  int64_t begin, end;
  explicit Mask(int64_t count, int64_t first = 0) : begin(first), end(first + count) {}
  Vector<T> load(const T* source) const {
    Vector<T> value = {};
    for (int64_t i = begin; i < end; ++i) value[i] = source[i];
    return value;
  }
  void store(T* destination, Vector<T> value) const {
    for (int64_t i = begin; i < end; ++i) destination[i] = value[i];
  }
#endif
};

/// Lanes `apart` from each other are combined: half of the lanes of the result are of a, half of b.
template <int apart, class V, class Combine>
[[gnu::always_inline]] inline V combine_lanes(V a, V b, const Combine& combine) {
  constexpr int lanes = sizeof(V) / sizeof(a[0]);
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return combine(
        V(__builtin_shufflevector(a, b, (i & apart ? i + lanes : i)...)),
        V(__builtin_shufflevector(a, b, (i & apart ? i + lanes - apart : i + apart)...)));
  }
  (std::make_integer_sequence<int, lanes>());
}

/// Lane i is what `combine` makes of the lanes of vector i, of as many vectors as one has lanes;
/// they are overwritten.
template <class T, int apart = kLanes<T> / 2, class Combine>
[[gnu::always_inline]] inline Vector<T> across_lanes(Vector<T>* vectors, const Combine& combine) {
#pragma GCC unroll 8
  for (int q = 0; q < apart; ++q)
    vectors[q] = combine_lanes<apart>(vectors[q], vectors[q + apart], combine);
  if constexpr (apart > 1) return across_lanes<T, apart / 2>(vectors, combine);
  return vectors[0];
}

/// Pairs of rows `apart` from each other become pairs of neighbours, in each `group` of rows: one
/// has what `low` picks of both, one what `high` picks.
template <class T, class Index>
[[gnu::always_inline]] inline void interleave_rows(Vector<T> (&rows)[kLanes<T>], int group,
                                                   Index low, Index high) {
  constexpr int lanes = kLanes<T>;
  Vector<T> next[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; i += 2) {
    const int first = i / group * group + i % group / 2;
    next[i] = __builtin_shuffle(rows[first], rows[first + group / 2], low);
    next[i + 1] = __builtin_shuffle(rows[first], rows[first + group / 2], high);
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) rows[i] = next[i];
}

/// Rows become columns in a square of kLanes x kLanes: each round interleaves the lower half of the
/// rows with the upper half, and log2(kLanes) rounds transpose.
template <class T>
[[gnu::always_inline]] inline void transpose_square(Vector<T> (&rows)[kLanes<T>]) {
  constexpr int lanes = kLanes<T>;
  typedef typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type Index;
  Index low, high;
#if defined(__AVX2__) && !defined(__AVX512F__)
  // Halves of registers are exchanged once; the rounds are then within them, an instruction each.
  constexpr int half = lanes / 2;
  Vector<T> next[lanes];
  for (int i = 0; i < lanes; ++i) {
    low[i] = i % half + i / half * lanes;
    high[i] = low[i] + half;
  }
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i) {
    next[i] = __builtin_shuffle(rows[i], rows[i + half], low);
    next[i + half] = __builtin_shuffle(rows[i], rows[i + half], high);
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) rows[i] = next[i];
#else
  constexpr int half = lanes;
#endif
  for (int i = 0; i < lanes; ++i) {
    low[i] = i / half * half + i % half / 2 + (i % 2) * lanes;
    high[i] = low[i] + half / 2;
  }
#pragma GCC unroll 4
  for (int round = 1; round < half; round *= 2) interleave_rows<T>(rows, half, low, high);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
