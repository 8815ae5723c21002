#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace flambeau::cpu {

/// to[r][c] = from[c][r] for a square of kBlock<Word> rows and columns; strides in elements. In
/// registers where SSE2 (part of every x86-64) can: bytes and 16-byte elements go one by one.
template <class Word>
inline constexpr int64_t kBlock = 1;

template <class Word>
void transpose_block(Word* to, int64_t to_stride, const Word* from, int64_t from_stride) {
  for (int64_t r = 0; r < kBlock<Word>; ++r)
    for (int64_t c = 0; c < kBlock<Word>; ++c) to[r * to_stride + c] = from[c * from_stride + r];
}

#if defined(__SSE2__)

template <>
inline constexpr int64_t kBlock<uint16_t> = 8;
template <>
inline constexpr int64_t kBlock<uint32_t> = 4;
template <>
inline constexpr int64_t kBlock<uint64_t> = 2;

namespace detail {
template <class Word>
__m128i load(const Word* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
template <class Word>
void store(Word* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}
}  // namespace detail

template <>
inline void transpose_block(uint64_t* to, int64_t to_stride, const uint64_t* from,
                            int64_t from_stride) {
  const __m128i a = detail::load(from), b = detail::load(from + from_stride);
  detail::store(to, _mm_unpacklo_epi64(a, b));
  detail::store(to + to_stride, _mm_unpackhi_epi64(a, b));
}

template <>
inline void transpose_block(uint32_t* to, int64_t to_stride, const uint32_t* from,
                            int64_t from_stride) {
  const __m128i a = detail::load(from), b = detail::load(from + from_stride);
  const __m128i c = detail::load(from + 2 * from_stride), d = detail::load(from + 3 * from_stride);
  const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
  const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
  detail::store(to, _mm_unpacklo_epi64(ab_low, cd_low));
  detail::store(to + to_stride, _mm_unpackhi_epi64(ab_low, cd_low));
  detail::store(to + 2 * to_stride, _mm_unpacklo_epi64(ab_high, cd_high));
  detail::store(to + 3 * to_stride, _mm_unpackhi_epi64(ab_high, cd_high));
}

template <>
inline void transpose_block(uint16_t* to, int64_t to_stride, const uint16_t* from,
                            int64_t from_stride) {
  __m128i row[8], next[8];
  for (int i = 0; i < 8; ++i) row[i] = detail::load(from + i * from_stride);
  // Pairs of rows 4 apart are interleaved; three rounds are a transposition.
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      next[2 * i] = _mm_unpacklo_epi16(row[i], row[i + 4]);
      next[2 * i + 1] = _mm_unpackhi_epi16(row[i], row[i + 4]);
    }
    for (int i = 0; i < 8; ++i) row[i] = next[i];
  }
  for (int i = 0; i < 8; ++i) detail::store(to + i * to_stride, row[i]);
}

#endif

}  // namespace flambeau::cpu
