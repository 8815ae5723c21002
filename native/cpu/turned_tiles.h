#pragma once

/// Tiles of an operand that lies across the others: its columns are dense in memory, and become
/// rows of a buffer, or rows of a buffer become its columns.

#include "cpu/elements.h"
#include "cpu/linalg/vector.h"
#include "cpu/transpose.h"

namespace flambeau::cpu::FLAMBEAU_ISA::detail {

/// Squares that registers turn: to[r * to_step + c] = from[c * from_step + r]. Of numbers, in
/// vectors.
template <class T>
struct VectorSquare {
  static constexpr int64_t kSide = kLanes<T>;

  static FLAMBEAU_INLINE void turn(T* to, int64_t to_step, const T* from, int64_t from_step) {
    Vector<T> square[kSide];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kSide; ++i) square[i] = load(from + i * from_step);
    transpose_square<T>(square);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kSide; ++i) store(to + i * to_step, square[i]);
  }
};
/// Of other bits, in rows of so many bytes.
template <class Word, int64_t bytes = 16>
struct WordSquare {
  static constexpr int64_t kSide = kBlock<Word, bytes>;

  static FLAMBEAU_INLINE void turn(Word* to, int64_t to_step, const Word* from, int64_t from_step) {
    transpose_block<Word, bytes>(to, to_step, from, from_step);
  }
};
template <class T>
using SquareOf = std::conditional_t<std::is_floating_point_v<T>, VectorSquare<T>, WordSquare<T>>;

/// What stands for T where bits are moved.
template <class T>
using WordOf = std::conditional_t<std::is_same_v<T, float>, uint32_t,
                                  std::conditional_t<std::is_same_v<T, double>, uint64_t, T>>;

/// Which side of a tile is the far one, whose lines of cache are each finished before the next.
enum class Far : uint8_t { source, destination };

/// Calls body(r, c) for the corners of squares that cover whole_rows x whole_columns, without those
/// that lie in rows and columns that are done.
template <Far far, class Body>
FLAMBEAU_INLINE void over_squares(int64_t side, int64_t done_rows, int64_t done_columns,
                                  int64_t whole_rows, int64_t whole_columns, const Body& body) {
  if constexpr (far == Far::destination) {
    for (int64_t r = 0; r < whole_rows; r += side)
      for (int64_t c = r < done_rows ? done_columns : 0; c < whole_columns; c += side) body(r, c);
  } else {
    for (int64_t c = 0; c < whole_columns; c += side)
      for (int64_t r = c < done_columns ? done_rows : 0; r < whole_rows; r += side) body(r, c);
  }
}

/// to[r * to_step + c] = from[c * from_step + r]
template <class Square, Far far, class T>
[[gnu::noinline, gnu::flatten]] void turn_by(T* to, int64_t to_step, const T* from,
                                             int64_t from_step, int64_t rows, int64_t columns) {
  constexpr int64_t side = Square::kSide;
  const int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  over_squares<far>(side, 0, 0, whole_rows, whole_columns, [=](int64_t r, int64_t c) {
    Square::turn(to + r * to_step + c, to_step, from + c * from_step + r, from_step);
  });
  // What is left, by smaller squares, then one by one.
  using Word = WordOf<T>;
  constexpr int64_t block = kBlock<Word>;
  const int64_t last_rows = rows / block * block, last_columns = columns / block * block;
  if constexpr (block < side)
    over_squares<far>(
        block, whole_rows, whole_columns, last_rows, last_columns, [=](int64_t r, int64_t c) {
          transpose_block(reinterpret_cast<Word*>(to + r * to_step + c), to_step,
                          reinterpret_cast<const Word*>(from + c * from_step + r), from_step);
        });
  over_squares<far>(1, last_rows, last_columns, rows, columns,
                    [=](int64_t r, int64_t c) { to[r * to_step + c] = from[c * from_step + r]; });
}

template <class T>
void turn(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns) {
  turn_by<SquareOf<T>, Far::source>(to, to_step, from, from_step, rows, columns);
}

/// to[r * columns + c] from the element c * strides[0] + r * strides[1], in bytes.
template <class T>
void gather_columns(char* to, const char* from, const int64_t* strides, int64_t columns,
                    int64_t rows) {
  constexpr auto bytes = static_cast<int64_t>(sizeof(T));
  T* const out = reinterpret_cast<T*>(to);
  if (strides[1] == bytes && strides[0] % bytes == 0)
    return turn(out, columns, reinterpret_cast<const T*>(from), strides[0] / bytes, rows, columns);
  for (int64_t c = 0; c < columns; ++c) {
    const char* element = from + c * strides[0];
    for (int64_t r = 0; r < rows; ++r, element += strides[1])
      out[r * columns + c] = *reinterpret_cast<const T*>(element);
  }
}
/// The way back.
template <class T>
void scatter_columns(char* to, const char* from, const int64_t* strides, int64_t columns,
                     int64_t rows) {
  constexpr auto bytes = static_cast<int64_t>(sizeof(T));
  const T* const in = reinterpret_cast<const T*>(from);
  if (strides[1] == bytes && strides[0] % bytes == 0)
    return turn(reinterpret_cast<T*>(to), strides[0] / bytes, in, columns, columns, rows);
  for (int64_t c = 0; c < columns; ++c) {
    char* element = to + c * strides[0];
    for (int64_t r = 0; r < rows; ++r, element += strides[1])
      *reinterpret_cast<T*>(element) = in[r * columns + c];
  }
}

/// Calls move(T{}) with a type that has the bits of elements of so many bytes, a number where
/// registers turn them.
template <class Move>
void with_turned(int64_t bytes, const Move& move) {
  switch (bytes) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(float{});
    case 8:
      return move(double{});
    default:
      return move(Bytes16{});
  }
}

/// A tile in the compute type, row by row.
inline void gather_tile(char* to, const char* from, const int64_t* strides, int64_t columns,
                        int64_t rows, const OperandKind& kind) {
  if (kind.conversion != Conversion::none) {
    alignas(64) char halves[2 * kMostConverted];
    gather_columns<uint16_t>(halves, from, strides, columns, rows);
    return load_run(to, halves, 2, columns * rows, kind);
  }
  with_turned(kind.bytes, [&](auto element) {
    gather_columns<decltype(element)>(to, from, strides, columns, rows);
  });
}
/// The way back.
inline void scatter_tile(char* to, const char* from, const int64_t* strides, int64_t columns,
                         int64_t rows, const OperandKind& kind) {
  if (kind.conversion != Conversion::none) {
    alignas(64) char halves[2 * kMostConverted];
    store_run(halves, 2, from, columns * rows, kind);
    return scatter_columns<uint16_t>(to, halves, strides, columns, rows);
  }
  with_turned(kind.bytes, [&](auto element) {
    scatter_columns<decltype(element)>(to, from, strides, columns, rows);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::detail
