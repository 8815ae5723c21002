#pragma once

#include <algorithm>

#include "core/threads/interrupt.h"
#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"

// Matrix multiplication after Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008): c is computed in tiles that stay in registers, from panels of a and b
// that are packed so that the tile loop reads them in order. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

// Every step of the depth is a pass over c, which may lie in memory: panels are as deep as L2 lets
// both factors' be.
inline constexpr int64_t kDepthBytes = 2048;     // of a line of parts
inline constexpr int64_t kPanelRows = 120;       // of parts, of a: 240 KiB in L2; a multiple of 12
inline constexpr int64_t kPanelBytes = 2 << 20;  // of b: in L3

/// Reads a and b where they are: for matrices that fit the first cache levels, and few rows.
template <class T>
void gemm_direct(const GemmCall<T>& call, const MatrixView<T>& b) {
  for (int64_t j = 0; j < call.n; j += kTileColumns<T>) {
    if (j > 0) check_interrupt();
    for (int64_t i = 0; i < call.m; i += kRows<T>)
      run_tile(std::min(kRows<T>, call.m - i), std::min(kTileColumns<T>, call.n - j), call.k,
               StridedRows<T>{call.a.data + i * call.a.row, call.a.row, call.a.column},
               SteppedLines<T>{b.data + j, b.row},
               Epilogue<T>{call.c + i * call.ldc + j, call.ldc, call.alpha, call.beta,
                           call.bias ? call.bias + j : nullptr});
  }
}

/// Asks for part p of `parts` of each of `rows` rows of a.
template <class T>
void ask_for_rows(const MatrixView<T>& a, int64_t rows, int64_t depth, int64_t p, int64_t parts) {
  constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t begin = depth * p / parts / line * line, end = depth * (p + 1) / parts;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = begin; j < end; j += line) __builtin_prefetch(a.data + i * a.row + j, 0, 2);
}

template <class T>
void gemm_packed(const GemmCall<T>& call) {
  constexpr int64_t width = kTileColumns<T>;
  constexpr int64_t depth_limit = kDepthBytes * kParts<T> / static_cast<int64_t>(sizeof(T));
  constexpr int64_t panel_rows = kPanelRows / kParts<T>;
  // Equal parts: a remainder of a few columns of a would cost a whole pass over c.
  const int64_t parts = (call.k + depth_limit - 1) / depth_limit;
  const int64_t depth_step = (call.k + parts - 1) / parts;
  const int64_t column_step =
      std::max(kPanelBytes / (depth_step * static_cast<int64_t>(sizeof(T))) / width * width, width);
  const int64_t padded = std::min((call.n + width - 1) / width * width, column_step);
  const bool packs_a = call.n > 4 * width || call.a.row == 1;
  T* packed_b = scratch<T>(0, static_cast<size_t>(padded * depth_step));
  T* packed_a = packs_a ? scratch<T>(1, static_cast<size_t>(panel_rows * depth_step)) : nullptr;
  for (int64_t j0 = 0; j0 < call.n; j0 += column_step) {
    const int64_t columns = std::min(column_step, call.n - j0);
    for (int64_t p0 = 0; p0 < call.k; p0 += depth_step) {
      const int64_t depth = std::min(depth_step, call.k - p0);
      const bool first = p0 == 0;
      const int64_t passes = (columns + width - 1) / width;
      pack_b(call.b.at(p0, j0), depth, columns, packed_b);
      for (int64_t i0 = 0; i0 < call.m; i0 += panel_rows) {
        check_interrupt();
        const int64_t rows = std::min(panel_rows, call.m - i0);
        const MatrixView<T> a = call.a.at(i0, p0);
        if (packs_a) pack_a(a, rows, depth, packed_a);
        // Rows that are read where they are come from memory at their first tile: the tiles of this
        // panel ask for those of the next.
        const bool in_place = !packs_a && a.column == 1;
        const int64_t asked = in_place ? std::min(panel_rows, call.m - i0 - rows) : 0;
        for (int64_t j = 0; j < columns; j += width)
          for (int64_t i = 0; i < rows; i += kRows<T>) {
            const Epilogue<T> out{call.c + (i0 + i) * call.ldc + j0 + j, call.ldc, call.alpha,
                                  first ? call.beta : Sum<T>(1),
                                  call.bias && first ? call.bias + j0 + j : nullptr};
            const int64_t tile_rows = std::min(kRows<T>, rows - i);
            if (i < asked)
              ask_for_rows(a.at(panel_rows + i, 0), std::min(kRows<T>, asked - i), depth, j / width,
                           passes);
            const int64_t tile_columns = std::min(width, columns - j);
            const SteppedLines<T> b{packed_b + j * depth, width};
            // The rest of a packed panel goes the way of other rows, as half of all tiles would be
            // for it alone.
            if (packs_a && tile_rows == kRows<T>)
              run_tile<kRows<T>>(tile_rows, tile_columns, depth,
                                 PackedRows<T>{packed_a + i * depth}, b, out);
            else
              run_tile(tile_rows, tile_columns, depth,
                       packs_a ? StridedRows<T>{packed_a + i * depth, 1, kRows<T>}
                               : StridedRows<T>{a.data + i * a.row, a.row, a.column},
                       b, out);
          }
      }
    }
  }
}

template <class T>
void gemm(const GemmCall<T>& call) {
  const bool small = call.k * (call.m + call.n) * static_cast<int64_t>(sizeof(T)) <= (64 << 10);
  const bool is_empty = call.k == 0;  // nothing of a and b is read
  if (is_empty || (call.b.column == 1 && (small || call.m <= kTileRows))) {
    gemm_direct(call, call.b);
  } else if (call.k <= kLanes<T> && call.n <= kLanes<T>) {
    // A transposed b of one vector: straight into a buffer on the stack.
    T buffer[kLanes<T> * kLanes<T>];
    for (int64_t p = 0; p < call.k; ++p)
      for (int64_t j = 0; j < call.n; ++j)
        buffer[p * kLanes<T> + j] = call.b.data[p * call.b.row + j * call.b.column];
    gemm_direct(call, {buffer, kLanes<T>, 1});
  } else {
    gemm_packed(call);
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
