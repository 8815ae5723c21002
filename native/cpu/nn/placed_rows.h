#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/linalg/scratch.h"
#include "cpu/linalg/tile.h"

// Left factors of tiles (cpu/linalg/tile.h) that are read where they lie. Include only from
// *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Rows of a that start anywhere; step p of all of them lies places[p] further.
template <class T>
struct PlacedRows {
  const T* data;
  const int64_t *offsets, *places;
  T at(int i) const { return data[offsets[i] + *places]; }
  void advance() { ++places; }
};

extern template struct Tiles<float, PlacedRows<float>, SteppedLines<float>, Epilogue<float>, 1>;
extern template struct Tiles<double, PlacedRows<double>, SteppedLines<double>, Epilogue<double>, 1>;

/// Rows that are `row` apart; step p of the first lies at data + offsets[p].
template <class T>
struct OffsetRows {
  const T* data;
  int64_t row;
  const int64_t* offsets;
  T at(int i) const { return data[*offsets + i * row]; }
  void advance() { ++offsets; }
};

/// sums[i, k] are of products of what places meet at offsets[i] and of lines of outputs.
template <class T>
struct PlacedSums {
  int64_t taps, outputs;
  const T* source;
  const int64_t* offsets;  ///< [taps]
  T* sums;                 ///< [taps, outputs]
};

/// Adds to them the products at `positions` places, some at a time, whose lines of a tile's outputs
/// from k on are what pack(first, count, k, panel) makes. What a few taps meet stays in L1, while
/// they are taken to all outputs.
template <class T, class Pack>
void add_placed_products(const PlacedSums<T>& to, int64_t positions, const int64_t* places,
                         const Pack& pack) {
  constexpr int64_t width = kTileColumns<T>, most = 256, few = 24;
  static_assert(few % kTileRows == 0);
  const int64_t outputs = to.outputs, panels = (outputs + width - 1) / width;
  T* const packed = scratch<T>(3, static_cast<size_t>(panels * width * most));
  for (int64_t first = 0; first < positions; first += most) {
    const int64_t count = std::min(most, positions - first);
    for (int64_t k = 0; k < outputs; k += width) pack(first, count, k, packed + k * count);
    for (int64_t begin = 0; begin < to.taps; begin += few)
      for (int64_t k = 0; k < outputs; k += width)
        for (int64_t i = begin; i < std::min(begin + few, to.taps); i += kTileRows)
          run_tile(std::min<int64_t>(kTileRows, to.taps - i), std::min(width, outputs - k), count,
                   PlacedRows<T>{to.source, to.offsets + i, places + first},
                   SteppedLines<T>{packed + k * count, width},
                   Epilogue<T>{to.sums + i * outputs + k, outputs, T(1), T(1), nullptr});
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
