#pragma once

#include <cstdint>

namespace flambeau::cpu {

/// Rows and columns of a square that is transposed in registers of so many bytes.
template <class Word, int64_t bytes = 16>
inline constexpr int64_t kBlock = bytes / static_cast<int64_t>(sizeof(Word));

/// A register of a row of such a square. Elements of 16 bytes go one by one.
template <class Word, int64_t bytes = 16>
struct BlockRow {
  typedef Word Row __attribute__((vector_size(bytes)));
  typedef Word Unaligned __attribute__((vector_size(bytes), aligned(alignof(Word)), may_alias));

  static Row load(const Word* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store(Word* to, Row row) { *reinterpret_cast<Unaligned*>(to) = row; }

  /// Elements of two rows in turns.
  static void interleave(Row first, Row second, Row& low, Row& high) {
    constexpr int64_t block = kBlock<Word, bytes>;
    Row low_places, high_places;
#pragma GCC unroll 16
    for (int64_t i = 0; i < block; ++i) {
      low_places[i] = static_cast<Word>(i / 2 + (i % 2) * block);
      high_places[i] = static_cast<Word>(low_places[i] + block / 2);
    }
    low = __builtin_shuffle(first, second, low_places);
    high = __builtin_shuffle(first, second, high_places);
  }
};

/// to[2 i] = first[i], to[2 i + 1] = second[i].
template <class Word>
void interleave_block(Word* to, const Word* first, const Word* second) {
  constexpr int64_t block = kBlock<Word>;
  if constexpr (block == 1) {
    to[0] = *first;
    to[1] = *second;
  } else {
    using Block = BlockRow<Word>;
    typename Block::Row low, high;
    Block::interleave(Block::load(first), Block::load(second), low, high);
    Block::store(to, low);
    Block::store(to + block, high);
  }
}

/// to(r)[c] = from(c)[r] for such a square.
template <class Word, int64_t bytes = 16, class To, class From>
void transpose_rows(const To& to, const From& from) {
  constexpr int64_t block = kBlock<Word, bytes>;
  if constexpr (block == 1) {
    *to(0) = *from(0);
  } else {
    using Block = BlockRow<Word, bytes>;
    typename Block::Row rows[block], next[block];
#pragma GCC unroll 16
    for (int64_t i = 0; i < block; ++i) rows[i] = Block::load(from(i));
      // Rows half a block apart are interleaved; log2(block) rounds are a transposition.
#pragma GCC unroll 4
    for (int64_t round = 1; round < block; round *= 2) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < block / 2; ++i)
        Block::interleave(rows[i], rows[i + block / 2], next[2 * i], next[2 * i + 1]);
#pragma GCC unroll 16
      for (int64_t i = 0; i < block; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < block; ++i) Block::store(to(i), rows[i]);
  }
}

/// to[r][c] = from[c][r]; strides in elements.
template <class Word, int64_t bytes = 16>
void transpose_block(Word* to, int64_t to_stride, const Word* from, int64_t from_stride) {
  transpose_rows<Word, bytes>([=](int64_t r) { return to + r * to_stride; },
                              [=](int64_t c) { return from + c * from_stride; });
}

}  // namespace flambeau::cpu
