#pragma once

// Include only from *.simd.cpp files.

#include <array>

#include "cpu/linalg/vector.h"

/// Chosen lanes of vectors of unsigned words of 32 or 64 bits, moved together.
namespace flambeau::cpu::FLAMBEAU_ISA {

#if defined(__AVX512F__)

/// Bit i: whether lane i exceeds that of `limit`.
template <class T>
FLAMBEAU_INLINE uint32_t lanes_above(Vector<T> words, Vector<T> limit) {
  if constexpr (sizeof(T) == 4) return _mm512_cmpgt_epu32_mask((__m512i)words, (__m512i)limit);
  if constexpr (sizeof(T) == 8) return _mm512_cmpgt_epu64_mask((__m512i)words, (__m512i)limit);
}
template <class T>
FLAMBEAU_INLINE uint32_t lanes_equal(Vector<T> a, Vector<T> b) {
  if constexpr (sizeof(T) == 4) return _mm512_cmpeq_epu32_mask((__m512i)a, (__m512i)b);
  if constexpr (sizeof(T) == 8) return _mm512_cmpeq_epu64_mask((__m512i)a, (__m512i)b);
}
/// The lanes of set bits in front, in order; the others are anything.
template <class T>
FLAMBEAU_INLINE Vector<T> pack(Vector<T> words, uint32_t lanes) {
  if constexpr (sizeof(T) == 4)
    return (Vector<T>)_mm512_maskz_compress_epi32(static_cast<__mmask16>(lanes), (__m512i)words);
  if constexpr (sizeof(T) == 8)
    return (Vector<T>)_mm512_maskz_compress_epi64(static_cast<__mmask8>(lanes), (__m512i)words);
}

#elif defined(__AVX2__)

template <class T>
FLAMBEAU_INLINE uint32_t sign_bits(Vector<T> words) {
  if constexpr (sizeof(T) == 4) return static_cast<uint32_t>(_mm256_movemask_ps((__m256)words));
  if constexpr (sizeof(T) == 8) return static_cast<uint32_t>(_mm256_movemask_pd((__m256d)words));
}
template <class T>
FLAMBEAU_INLINE uint32_t lanes_above(Vector<T> words, Vector<T> limit) {
  return sign_bits<T>((Vector<T>)(words > limit));
}
template <class T>
FLAMBEAU_INLINE uint32_t lanes_equal(Vector<T> a, Vector<T> b) {
  return sign_bits<T>((Vector<T>)(a == b));
}

/// For each set of lanes the 8 words of 32 bits that come first to last, a byte each.
template <int lanes>
constexpr auto packing_table() {
  constexpr int width = 8 / lanes;
  std::array<uint64_t, size_t{1} << lanes> table{};
  for (size_t set = 0; set < table.size(); ++set) {
    int place = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      if (!(set >> lane & 1)) continue;
      for (int part = 0; part < width; ++part)
        table[set] |= static_cast<uint64_t>(lane * width + part) << (8 * place++);
    }
  }
  return table;
}
template <int lanes>
inline constexpr auto kPackingTable = packing_table<lanes>();

template <class T>
FLAMBEAU_INLINE Vector<T> pack(Vector<T> words, uint32_t lanes) {
  const uint64_t bytes = kPackingTable<kLanes<T> >[lanes];
  const __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
  return (Vector<T>)_mm256_permutevar8x32_epi32((__m256i)words, places);
}

#endif

/// The first `count` lanes from memory, fewer than all; the others are those of `rest`.
template <class T>
FLAMBEAU_INLINE Vector<T> load_first(const T* from, int64_t count, Vector<T> rest) {
#if defined(__AVX512F__)
  const __mmask16 lanes = Mask<T>(count).bits;
  if constexpr (sizeof(T) == 4)
    return (Vector<T>)_mm512_mask_loadu_epi32((__m512i)rest, lanes, from);
  if constexpr (sizeof(T) == 8)
    return (Vector<T>)_mm512_mask_loadu_epi64((__m512i)rest, static_cast<__mmask8>(lanes), from);
#elif defined(__AVX2__)
  const __m256i lanes = Mask<T>(count).lanes;
  if constexpr (sizeof(T) == 4)
    return (Vector<T>)_mm256_blendv_epi8(
        (__m256i)rest, _mm256_maskload_epi32(reinterpret_cast<const int*>(from), lanes), lanes);
  if constexpr (sizeof(T) == 8)
    return (Vector<T>)_mm256_blendv_epi8(
        (__m256i)rest, _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), lanes),
        lanes);
#else
  for (int64_t i = 0; i < count; ++i) rest[i] = from[i];
  return rest;
#endif
}

/// Whether words are packed by vectors; if not, the above is missing.
#if defined(__AVX2__)
inline constexpr bool kPacks = true;
#else
inline constexpr bool kPacks = false;
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
