#include "cpu/nn/window_kernel.h"

#include <algorithm>
#include <vector>

#include "cpu/linalg/pack.h"
#include "cpu/nn/placed_rows.h"
#include "cpu/nn/shared_windows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kPanel = 32 << 10;  // bytes: near while all windows meet it

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

/// Whether a vector holds all outputs of a group.
template <class T>
bool is_narrow(const WindowBlock<T>& block) {
  return block.outputs <= kLanes<T>;
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
      const int64_t output = group * block.outputs + k,
                    outputs = std::min(width, block.outputs - k);
      const OffsetRows<T> rows{source, block.windows.step, block.windows.offsets + first};
      const SteppedLines<T> lines{weights, width};
      const Epilogue<T> to{result + output, block.result_step, T(1), T(first ? 1 : 0),
                           bias ? bias + output : nullptr};
      if (is_narrow(block))
        run_tall_tile(count, outputs, depth, rows, lines, to);
      else
        run_tile(count, outputs, depth, rows, lines, to);
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
  const bool is_shared = block.together > 1;
  const int64_t height = is_narrow(block) && !is_shared ? kTallRows : kTileRows;
  const int64_t tiles = (windows.columns + height - 1) / height;
  for (int64_t row = 0; row < windows.rows; ++row)
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t first = windows.columns * t / tiles, last = windows.columns * (t + 1) / tiles;
      const T* const source = windows.source + row * windows.row_step + first * windows.step;
      T* const result = block.result + row * block.result_row_step + first * block.result_step;
      if (t + 1 < tiles)
        ask_for_results(block, height, result + (last - first) * block.result_step);
      if (is_shared) {
        with_shared_size<T>(block.outputs, [&](auto size) {
          run_shared<T, size()>(block, last - first, source, result);
        });
        continue;
      }
      for (int64_t p = 0; p < block.depth; p += part)
        run_windows(block, last - first, p, std::min(part, block.depth - p), source, result);
    }
}

template <class T>
void add_products(const WindowGradBlock<T>& block) {
  if (block.together > 1)
    return with_shared_size<T>(block.outputs / block.together,
                               [&](auto size) { add_shared_products<T, size()>(block); });
  const WindowGrid<T>& windows = block.windows;
  std::vector<int64_t> places;
  for (int64_t row = 0; row < windows.rows; ++row)
    for (int64_t column = 0; column < windows.columns; ++column)
      places.push_back(row * windows.row_step + column * windows.step);
  add_placed_products(
      PlacedSums<T>{block.depth, block.outputs, windows.source, windows.offsets, block.sums},
      windows.rows * windows.columns, places.data(),
      [&](int64_t first, int64_t count, int64_t k, T* panel) {
        pack_lines(block.grad + first * block.grad_step + k, int64_t(1), block.grad_step,
                   std::min(kTileColumns<T>, block.outputs - k), count, panel, kTileColumns<T>);
      });
}

}  // namespace

template <class T>
const WindowKernels<T>& window_kernels() {
  static constexpr WindowKernels<T> kernels{&pack<T>,       &forward<T>,     &add_products<T>,
                                            kTileRows,      kTileColumns<T>, &groups_together<T>,
                                            &pack_shared<T>};
  return kernels;
}
template const WindowKernels<float>& window_kernels();
template const WindowKernels<double>& window_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
