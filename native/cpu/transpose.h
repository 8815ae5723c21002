#pragma once

#include <cstdint>

namespace flambeau::cpu {

/// Rows and columns of a square that is transposed in registers of 16 bytes.
template <class Word>
inline constexpr int64_t kBlock = 16 / static_cast<int64_t>(sizeof(Word));

/// to(r)[c] = from(c)[r] for such a square. Elements of 16 bytes go one by one.
template <class Word, class To, class From>
void transpose_rows(const To& to, const From& from) {
  constexpr int64_t block = kBlock<Word>;
  if constexpr (block == 1) {
    *to(0) = *from(0);
  } else {
    typedef Word Row __attribute__((vector_size(16)));
    typedef Word Unaligned __attribute__((vector_size(16), aligned(alignof(Word)), may_alias));
    Row rows[block], next[block], low, high;
#pragma GCC unroll 16
    for (int64_t i = 0; i < block; ++i) {
      rows[i] = *reinterpret_cast<const Unaligned*>(from(i));
      low[i] = static_cast<Word>(i / 2 + (i % 2) * block);
      high[i] = static_cast<Word>(low[i] + block / 2);
    }
    // Rows half a block apart are interleaved; log2(block) rounds are a transposition.
#pragma GCC unroll 4
    for (int64_t round = 1; round < block; round *= 2) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < block / 2; ++i) {
        next[2 * i] = __builtin_shuffle(rows[i], rows[i + block / 2], low);
        next[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + block / 2], high);
      }
#pragma GCC unroll 16
      for (int64_t i = 0; i < block; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < block; ++i) *reinterpret_cast<Unaligned*>(to(i)) = rows[i];
  }
}

/// to[r][c] = from[c][r]; strides in elements.
template <class Word>
void transpose_block(Word* to, int64_t to_stride, const Word* from, int64_t from_stride) {
  transpose_rows<Word>([=](int64_t r) { return to + r * to_stride; },
                       [=](int64_t c) { return from + c * from_stride; });
}

}  // namespace flambeau::cpu
