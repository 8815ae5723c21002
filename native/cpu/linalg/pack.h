#pragma once

#include <algorithm>

#include "cpu/linalg/complex_tile.h"
#include "cpu/linalg/gemm_kernel.h"
#include "cpu/linalg/tile.h"

// Copies of matrix blocks in the order in which tiles read them. Include only from *.simd.cpp
// files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Elements of a line that are asked for before they are packed: as many lines are read together,
/// the processor foresees none of them.
template <class T>
inline constexpr int64_t kPackedAhead = 256 / static_cast<int64_t>(sizeof(T));

/// The same of steps, where lines lie side by side.
inline constexpr int64_t kPackedSteps = 16;

/// One step of some lines: a whole vector where what runs over is written later, as stores of parts
/// take AMD's processors ten times as long; else the lanes of the mask.
template <class T>
[[gnu::always_inline]] inline void store_lines(T* to, Vector<T> step, const Mask<T>& lines,
                                               bool may_run_over) {
  if (may_run_over)
    store(to, step);
  else
    lines.store(to, step);
}

/// Copies `count` lines of `depth` elements so that packed[p * width + i] is line i's element p;
/// missing lines are not written. Lines have any strides.
template <class T>
void pack_lines(const T* source, int64_t line, int64_t step, int64_t count, int64_t depth,
                T* packed, int64_t width) {
  constexpr int lanes = kLanes<T>;
  if (line == 1) {
    const int64_t whole = count / lanes * lanes;
    const Mask<T> rest(std::max<int64_t>(1, count - whole));
    // Of a full panel a whole vector may run into the next step, which is written after it.
    const int64_t last_whole = count == width ? depth * width - lanes : -1;
    for (int64_t p = 0; p < depth; ++p) {
      const T* from = source + p * step;
      T* to = packed + p * width;
      // Lines of the next panel follow those of this one.
      const int64_t ahead = p + kPackedSteps;
      const T* const next =
          ahead < depth ? source + ahead * step : source + count + (ahead - depth) * step;
      __builtin_prefetch(next, 0, 3);
      __builtin_prefetch(next + count - 1, 0, 3);
      for (int64_t i = 0; i < whole; i += lanes) store(to + i, load(from + i));
      if (whole == count) continue;
      store_lines(to + whole, rest.load(from + whole), rest, p * width + whole <= last_whole);
    }
    return;
  }
  int64_t i = 0;
  if (step == 1) {
    for (; i < count; i += lanes) {
      const int64_t group = std::min<int64_t>(lanes, count - i);
      // A whole vector is stored only where the packed line has room for it, or the lines behind
      // it are written next.
      const Mask<T> room(std::min<int64_t>(lanes, width - i));
      const int64_t last_whole = width < lanes ? depth * width - lanes : -1;
      for (int64_t p = 0; p < depth; p += lanes) {
        const int64_t columns = std::min<int64_t>(lanes, depth - p);
        const Mask<T> mask(columns);
        const int64_t ahead = p + kPackedAhead<T>;
        const T* const next =
            ahead < depth ? source + i * line + ahead : source + (i + lanes) * line + ahead - depth;
        Vector<T> square[lanes];
        for (int64_t r = 0; r < lanes; ++r) square[r] = Vector<T>{};
        const T* const from = source + i * line + p;
        for (int64_t r = 0; r < group; ++r) __builtin_prefetch(next + r * line, 0, 3);
        // Masked loads are slower on some processors.
        if (columns == lanes)
          for (int64_t r = 0; r < group; ++r) square[r] = load(from + r * line);
        else
          for (int64_t r = 0; r < group; ++r) square[r] = mask.load(from + r * line);
        transpose_square<T>(square);
        for (int64_t q = 0; q < columns; ++q) {
          const int64_t place = (p + q) * width + i;
          store_lines(packed + place, square[q], room, place <= last_whole);
        }
      }
    }
    return;
  }
  for (; i < count; ++i)
    for (int64_t p = 0; p < depth; ++p) packed[p * width + i] = source[i * line + p * step];
}

template <class T>
void pack_lines(const complex<T>* source, int64_t line, int64_t step, int64_t count, int64_t depth,
                complex<T>* packed, int64_t width) {
  if (line == 1)
    return pack_lines(parts(source), 1, 2 * step, 2 * count, depth, parts(packed), 2 * width);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t p = 0; p < depth; ++p) packed[p * width + i] = source[i * line + p * step];
}

/// All of b in tiles' panels: panel j holds columns [j * width, ...) of every depth step.
template <class T>
void pack_b(const MatrixView<T>& b, int64_t depth, int64_t columns, T* packed) {
  constexpr int64_t width = kTileColumns<T>;
  for (int64_t j = 0; j < columns; j += width, packed += width * depth)
    pack_lines(b.data + j * b.column, b.column, b.row, std::min(width, columns - j), depth, packed,
               width);
}

template <class T>
void pack_a(const MatrixView<T>& a, int64_t rows, int64_t depth, T* packed) {
  constexpr int64_t height = kRows<T>;
  for (int64_t i = 0; i < rows; i += height, packed += height * depth)
    pack_lines(a.data + i * a.row, a.row, a.column, std::min(height, rows - i), depth, packed,
               height);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
