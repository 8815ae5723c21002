#pragma once

/// Tiles of an operand that lies across the others: its columns are dense in memory, and become
/// rows of a buffer, or rows of a buffer become its columns.

#include "cpu/elements.h"
#include "cpu/linalg/vector.h"
#include "cpu/transpose.h"

namespace flambeau::cpu::FLAMBEAU_ISA::detail {

/// Rows and columns of the squares that registers turn: numbers in vectors, other bits in words.
template <class T>
constexpr int64_t square_side() {
  if constexpr (std::is_floating_point_v<T>)
    return kLanes<T>;
  else
    return kBlock<T>;
}

/// to[r * to_step + c] = from[c * from_step + r] for a square.
template <class T>
FLAMBEAU_INLINE void turn_square(T* to, int64_t to_step, const T* from, int64_t from_step) {
  if constexpr (std::is_floating_point_v<T>) {
    Vector<T> square[kLanes<T>];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes<T>; ++i) square[i] = load(from + i * from_step);
    transpose_square<T>(square);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes<T>; ++i) store(to + i * to_step, square[i]);
  } else {
    transpose_block(to, to_step, from, from_step);
  }
}

/// to[r * to_step + c] = from[c * from_step + r]
template <class T>
[[gnu::noinline]] void turn(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows,
                            int64_t columns) {
  constexpr int64_t side = square_side<T>();
  const int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  for (int64_t c = 0; c < whole_columns; c += side)
    for (int64_t r = 0; r < whole_rows; r += side)
      turn_square(to + r * to_step + c, to_step, from + c * from_step + r, from_step);
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r)
      to[r * to_step + c] = from[c * from_step + r];
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
