#pragma once

#include <algorithm>

#include "cpu/linalg/tile.h"
#include "cpu/nn/window_kernel.h"

// Windows of groups with as many channels as outputs, so few that several groups share a vector:
// lanes are the outputs of all of them, and each meets the channels of its own group. Include only
// from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// How many groups share a vector; 1: none do.
template <class T>
int64_t groups_together(int64_t groups, int64_t channels, int64_t outputs) {
  constexpr int64_t lanes = kLanes<T>;
  if (channels != outputs || (outputs != 4 && outputs != 8) || outputs >= lanes) return 1;
  return groups * outputs % lanes == 0 ? lanes / outputs : 1;
}

template <class T>
using LaneIndex = typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type;

/// Each lane has element `channel` of its group.
template <int size, class T>
[[gnu::always_inline]] inline Vector<T> of_groups(Vector<T> pixel, int channel) {
  LaneIndex<T> from;
  for (int i = 0; i < kLanes<T>; ++i) from[i] = i / size * size + channel;
  return __builtin_shuffle(pixel, from);
}

/// packed[(t * channels + j) * kLanes + i]: tap t, channel j of output i of one group.
template <class T>
void pack_shared(const ConvWeights<T>& weights, T* packed) {
  for (int64_t t = 0; t < weights.tap_count; ++t)
    for (int64_t j = 0; j < weights.majors; ++j, packed += kLanes<T>)
      for (int64_t i = 0; i < weights.outputs; ++i)
        packed[i] = weights.data[i * weights.row + j * weights.major + weights.taps[t]];
}

/// All groups of `count` windows, the first at `source`.
template <class T, int size, int count>
void shared_tile(const WindowBlock<T>& block, const T* source, T* result) {
  constexpr int64_t lanes = kLanes<T>;
  const int64_t step = block.windows.step, channels = block.groups * size;
  const T* weights = block.weights;
  for (int64_t first = 0; first < channels; first += lanes) {
    Vector<T> sum[count];
#pragma GCC unroll 12
    for (int i = 0; i < count; ++i) sum[i] = block.bias ? load(block.bias + first) : Vector<T>{};
    for (int64_t p = 0; p < block.depth; p += size, weights += size * lanes) {
      const T* const from = source + first + block.windows.offsets[p];
      Vector<T> pixels[count];
#pragma GCC unroll 12
      for (int i = 0; i < count; ++i) pixels[i] = load(from + i * step);
#pragma GCC unroll 8
      for (int j = 0; j < size; ++j) {
        const Vector<T> weight = load(weights + j * lanes);
#pragma GCC unroll 12
        for (int i = 0; i < count; ++i)
          sum[i] = multiply_add<T>(of_groups<size, T>(pixels[i], j), weight, sum[i]);
      }
    }
#pragma GCC unroll 12
    for (int i = 0; i < count; ++i) store(result + i * block.result_step + first, sum[i]);
  }
}

template <class T, int size, int... index>
constexpr auto make_shared_tiles(std::integer_sequence<int, index...>) {
  using Shared = void (*)(const WindowBlock<T>&, const T*, T*);
  return std::array<Shared, sizeof...(index)>{shared_tile<T, size, index + 1>...};
}

/// All groups of 1 <= count <= kTileRows windows.
template <class T, int size>
void run_shared(const WindowBlock<T>& block, int64_t count, const T* source, T* result) {
  static constexpr auto tiles =
      make_shared_tiles<T, size>(std::make_integer_sequence<int, kTileRows>());
  tiles[static_cast<size_t>(count - 1)](block, source, result);
}

/// Adds to the sums of some taps of the groups that share a vector what a row of windows meets.
template <class T, int size, int taps>
void add_shared_row(const WindowGrid<T>& windows, const T* source, const int64_t* offsets,
                    const T* grad, int64_t grad_step, T* sums) {
  constexpr int64_t lanes = kLanes<T>;
  Vector<T> sum[taps][size];
#pragma GCC unroll 3
  for (int t = 0; t < taps; ++t)
#pragma GCC unroll 8
    for (int j = 0; j < size; ++j) sum[t][j] = load(sums + (t * size + j) * lanes);
  for (int64_t i = 0; i < windows.columns; ++i, source += windows.step, grad += grad_step) {
    const Vector<T> factor = load(grad);
#pragma GCC unroll 3
    for (int t = 0; t < taps; ++t) {
      const Vector<T> pixel = load(source + offsets[t * size]);
#pragma GCC unroll 8
      for (int j = 0; j < size; ++j)
        sum[t][j] = multiply_add<T>(of_groups<size, T>(pixel, j), factor, sum[t][j]);
    }
  }
#pragma GCC unroll 3
  for (int t = 0; t < taps; ++t)
#pragma GCC unroll 8
    for (int j = 0; j < size; ++j) store(sums + (t * size + j) * lanes, sum[t][j]);
}

/// The gradient of the weights of the groups that share a vector, packed as weights are.
template <class T, int size>
void add_shared_products(const WindowGradBlock<T>& block) {
  constexpr int64_t lanes = kLanes<T>;
  constexpr int taps = kTileRows * kTileVectors / 2 / size;  // so many sums stay in registers
  constexpr int64_t most = taps > 1 ? taps : 1;
  const WindowGrid<T>& windows = block.windows;
  for (int64_t row = 0; row < windows.rows; ++row) {
    const T* const source = windows.source + row * windows.row_step;
    const T* const grad = block.grad + row * windows.columns * block.grad_step;
    int64_t p = 0;
    for (; p + most * size <= block.depth; p += most * size)
      add_shared_row<T, size, most>(windows, source, windows.offsets + p, grad, block.grad_step,
                                    block.sums + p * lanes);
    for (; p < block.depth; p += size)
      add_shared_row<T, size, 1>(windows, source, windows.offsets + p, grad, block.grad_step,
                                 block.sums + p * lanes);
  }
}

/// Calls body(std::integral_constant<int, size>()) for groups of so many channels.
template <class T, class Body>
void with_shared_size(int64_t size, const Body& body) {
  if constexpr (kLanes < T >> 4)
    if (size == 4) return body(std::integral_constant<int, 4>());
  if constexpr (kLanes < T >> 8)
    if (size == 8) return body(std::integral_constant<int, 8>());
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
