#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/nn/conv_forward.h"

// Convolutions of a few more outputs than a tile has rows: two tiles of fewer rows and more columns
// are as fast as one that is full, and read images in place. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

inline constexpr int kWideVectors = 3;
/// 8 x 3 accumulators, 3 lines, of 32 registers; 16 are too few.
inline constexpr int kWideRows = kTileRows == 12 ? 8 : 0;
/// Of two panels the second has as many, as no more than kTileRows outputs need no two.
inline constexpr int kLeastWideRows = kTileRows + 1 - kWideRows;

template <class T>
using WideTile = Tile<T, PackedRows<T, kWideRows>, ScatteredLines<T>, Epilogue<T>>;

template <class T, int... index>
constexpr std::array<WideTile<T>, sizeof...(index)> make_wide_tiles(
    std::integer_sequence<int, index...>) {
  return {tile<T, PackedRows<T, kWideRows>, ScatteredLines<T>, Epilogue<T>,
               index / (2 * kWideVectors) + kLeastWideRows, index / 2 % kWideVectors + 1,
               index % 2 == 1>...};
}
template <class T>
inline constexpr auto kWideTiles =
    make_wide_tiles<T>(std::make_integer_sequence<int, std::max(kWideRows - kLeastWideRows + 1, 0) *
                                                           2 * kWideVectors>());

template <class T>
void forward_wide(const ConvBlock<T>& block) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t p = 0; p < block.depth; p += kDepth) {
    const int64_t depth = std::min(kDepth, block.depth - p);
    for (int64_t q = 0; q < block.positions; q += kWideVectors * lanes)
      for (int64_t i = 0; i < block.outputs; i += kWideRows) {
        const int64_t rows = std::min<int64_t>(kWideRows, block.outputs - i);
        const int64_t columns = std::min(kWideVectors * lanes, block.positions - q);
        const int64_t vectors = (columns + lanes - 1) / lanes;
        const int64_t last = columns - (vectors - 1) * lanes;
        const int64_t index =
            ((rows - kLeastWideRows) * kWideVectors + vectors - 1) * 2 + (last != lanes);
        kWideTiles<T>[static_cast<size_t>(index)](
            depth, PackedRows<T, kWideRows>{block.weights + i * block.depth + p * kWideRows},
            ScatteredLines<T>{block.source + q, block.offsets + p},
            Epilogue<T>{block.sums + i * block.step + q, block.step, T(1), T(p ? 1 : 0), nullptr},
            last);
      }
  }
}

/// Null where there are too few registers.
template <class T>
constexpr auto wide_packer() -> void (*)(const ConvWeights<T>&, int64_t, ConvPacked<T>*) {
  if constexpr (kWideRows > 0)
    return &pack_conv_weights<T, kWideRows>;
  else
    return nullptr;
}
template <class T>
constexpr auto wide_forward() -> void (*)(const ConvBlock<T>&) {
  if constexpr (kWideRows > 0)
    return &forward_wide<T>;
  else
    return nullptr;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
