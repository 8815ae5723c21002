#pragma once

#include <algorithm>

#include "cpu/linalg/gemm_halves.h"
#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/conv_patches.h"

// Blocks of a convolution, of any type of elements. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Whether the depth of each output's weights is one line in memory.
template <class T>
bool is_dense(const ConvWeights<T>& weights) {
  for (int64_t t = 0; t < weights.tap_count; ++t)
    if (weights.taps[t] != t) return false;
  return weights.major == weights.tap_count;
}

/// packed[element * kRows + i] for the rows of one panel.
template <class T, int kRows = kTileRows>
void pack_conv_weights(const ConvWeights<T>& weights, int64_t panel, ConvPacked<T>* packed) {
  constexpr int64_t steps = PatchReader<T>::kSteps;
  const int64_t first = panel * kRows, depth = weights.majors * weights.tap_count;
  const int64_t rows = std::min<int64_t>(kRows, weights.outputs - first);
  const T* const data = weights.data + first * weights.row;
  if (is_dense(weights)) {
    if constexpr (steps == 1)
      pack_lines(data, weights.row, int64_t(1), rows, depth, packed, kRows);
    else
      pack_by_element<Paired>({data, weights.row, 1, rows, depth}, (depth + 1) / steps, kRows,
                              packed);
    return;
  }
  const auto column = [&](int64_t p) {
    return data + p / weights.tap_count * weights.major + weights.taps[p % weights.tap_count];
  };
  for (int64_t p = 0; p < depth; p += steps, packed += kRows) {
    const T* const from = column(p);
    if constexpr (steps == 1) {
      for (int64_t i = 0; i < rows; ++i) packed[i] = from[i * weights.row];
    } else {
      const T* const next = p + 1 < depth ? column(p + 1) : nullptr;
      for (int64_t i = 0; i < rows; ++i) {
        const uint32_t high = next ? next[i * weights.row].bits : 0;
        packed[i] = from[i * weights.row].bits | high << 16;
      }
    }
  }
}

/// Of a pass over a block: its part of the source stays in L1 and L2.
inline constexpr int64_t kDepth = 768;

inline constexpr int64_t kPanelOfPatches = 32 << 10;  // bytes: near while all filters meet it

/// Patches are copied to panels, each of which meets all the filters.
template <class T>
void forward_packed(const ConvBlock<T>& block) {
  using Packed = ConvPacked<T>;
  using S = ConvSum<T>;
  constexpr int64_t steps = PatchReader<T>::kSteps, width = kTileColumns<Packed>;
  constexpr int64_t most = kPanelOfPatches / (width * static_cast<int64_t>(sizeof(Packed)));
  const int64_t elements = (block.depth + steps - 1) / steps;
  const int64_t parts = (elements + most - 1) / most, part = (elements + parts - 1) / parts;
  const int64_t tiles = (block.outputs + kTileRows - 1) / kTileRows;
  Packed* const panel = scratch<Packed>(2, static_cast<size_t>(part * width));
  for (int64_t e = 0; e < elements; e += part) {
    const int64_t count = std::min(part, elements - e);
    const int64_t depth = std::min(count * steps, block.depth - e * steps);
    const int64_t* const offsets = block.offsets + e * steps;
    const ConvRun* run = block.runs;
    int64_t done = 0;
    const auto columns_at = [&](int64_t q) {
      return PatchColumns<T>(run, done, std::clamp<int64_t>(block.positions - q, 0, width));
    };
    PatchColumns<T> next = columns_at(0);
    for (int64_t q = 0; q < block.positions; q += width) {
      next.pack(block.source, offsets, depth, panel);
      next = columns_at(q + width);
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t i = t * kTileRows;
        if (block.in_memory) {
          const int64_t first = depth * t / tiles;
          next.prefetch(block.source, offsets + first, depth * (t + 1) / tiles - first);
        }
        run_tile(std::min<int64_t>(kTileRows, block.outputs - i),
                 std::min(width, block.positions - q), count,
                 PackedRows<Packed>{block.weights + i * elements + e * kTileRows},
                 SteppedLines<Packed>{panel, width},
                 Epilogue<Packed>{block.sums + i * block.step + q, block.step, S(1), S(e ? 1 : 0),
                                  nullptr});
      }
    }
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
