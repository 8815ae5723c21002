#include "cpu/nn/window_kernel.h"

#include <algorithm>

#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/placed_rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kPanel = 32 << 10;  // bytes: near while all windows meet it
constexpr int64_t kPositions = 256;   // of a packed panel of the gradient

/// Few outputs are packed without gaps: all groups' weights are read for each tile.
template <class T>
int64_t panel_width(int64_t outputs) {
  return std::min(kTileColumns<T>, outputs);
}

template <class T>
void pack(const ConvWeights<T>& weights, int64_t panel, T* packed) {
  const int64_t width = panel_width<T>(weights.outputs);
  const int64_t first = panel * width, outputs = std::min(width, weights.outputs - first);
  for (int64_t t = 0; t < weights.tap_count; ++t)
    pack_lines(weights.data + first * weights.row + weights.taps[t], weights.row, weights.major,
               outputs, weights.majors, packed + t * weights.majors * width, width);
}

/// All outputs of some windows, whose elements stay in L1 meanwhile; the first at `source`. Part
/// [first, first + depth) of their depth.
template <class T>
void run_windows(const WindowBlock<T>& block, int64_t count, int64_t first, int64_t depth,
                 const T* source, T* result) {
  const int64_t width = panel_width<T>(block.outputs);
  const T *weights = block.weights + first * width, *bias = first == 0 ? block.bias : nullptr;
  for (int64_t group = 0; group < block.groups; ++group, source += block.channels)
    for (int64_t k = 0; k < block.outputs; k += width, weights += block.depth * width) {
      const int64_t output = group * block.outputs + k;
      run_tile(count, std::min(width, block.outputs - k), depth,
               OffsetRows<T>{source, block.windows.step, block.windows.offsets + first},
               SteppedLines<T>{weights, width},
               Epilogue<T>{result + output, block.result_step, T(1), T(first ? 1 : 0),
                           bias ? bias + output : nullptr});
    }
}

/// Asks for the results of some windows, which are written next.
template <class T>
void ask_for_results(const WindowBlock<T>& block, int64_t count, const T* result) {
  constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < block.groups * block.outputs; k += line)
      __builtin_prefetch(result + i * block.result_step + k, 1, 3);
}

template <class T>
void forward(const WindowBlock<T>& block) {
  constexpr int64_t most = kPanel / (kTileColumns<T> * static_cast<int64_t>(sizeof(T)));
  const WindowGrid<T>& windows = block.windows;
  const int64_t parts = (block.depth + most - 1) / most, part = (block.depth + parts - 1) / parts;
  // Tiles of about the same height: short ones wait for their own sums.
  const int64_t tiles = (windows.columns + kTileRows - 1) / kTileRows;
  for (int64_t row = 0; row < windows.rows; ++row)
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t first = windows.columns * t / tiles, last = windows.columns * (t + 1) / tiles;
      const T* const source = windows.source + row * windows.row_step + first * windows.step;
      T* const result = block.result + row * block.result_row_step + first * block.result_step;
      if (t + 1 < tiles)
        ask_for_results(block, kTileRows, result + (last - first) * block.result_step);
      for (int64_t p = 0; p < block.depth; p += part)
        run_windows(block, last - first, p, std::min(part, block.depth - p), source, result);
    }
}

template <class T>
void add_products(const WindowGradBlock<T>& block) {
  constexpr int64_t width = kTileColumns<T>;
  const WindowGrid<T>& windows = block.windows;
  const int64_t all = windows.rows * windows.columns;
  const int64_t padded = (block.outputs + width - 1) / width * width;
  T* const packed = scratch<T>(3, static_cast<size_t>(padded * kPositions));
  int64_t places[kPositions];
  for (int64_t q = 0, row = 0, column = 0; q < all; q += kPositions) {
    const int64_t count = std::min(kPositions, all - q);
    for (int64_t i = 0; i < count; ++i) {
      places[i] = row * windows.row_step + column * windows.step;
      if (++column < windows.columns) continue;
      column = 0;
      ++row;
    }
    for (int64_t k = 0; k < block.outputs; k += width) {
      T* const panel = packed + k * count;
      const int64_t columns = std::min(width, block.outputs - k);
      pack_lines(block.grad + q * block.grad_step + k, int64_t(1), block.grad_step, columns, count,
                 panel, width);
      for (int64_t p = 0; p < block.depth; p += kTileRows)
        run_tile(
            std::min<int64_t>(kTileRows, block.depth - p), columns, count,
            PlacedRows<T>{windows.source, windows.offsets + p, places},
            SteppedLines<T>{panel, width},
            Epilogue<T>{block.sums + p * block.outputs + k, block.outputs, T(1), T(1), nullptr});
    }
  }
}

}  // namespace

template <class T>
const WindowKernels<T>& window_kernels() {
  static constexpr WindowKernels<T> kernels{&pack<T>, &forward<T>, &add_products<T>, kTileRows,
                                            kTileColumns<T>};
  return kernels;
}
template const WindowKernels<float>& window_kernels();
template const WindowKernels<double>& window_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
