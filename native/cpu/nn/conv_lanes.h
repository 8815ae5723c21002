#pragma once

#include <algorithm>

#include "cpu/linalg/pack.h"
#include "cpu/nn/conv_forward.h"

// Convolutions whose vectors run over output channels: each element of the source is multiplied
// where it lies, and no patch is copied. Sums are turned when they are finished. Include only from
// *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Rows that follow each other in memory; step p of the first lies at data + offsets[p].
template <class T>
struct FollowingRows {
  const T* data;
  const int64_t* offsets;
  T at(int i) const { return data[*offsets + i]; }
  void advance() { ++offsets; }
};

inline constexpr int64_t kLinesOfWeights = 32 << 10;  // bytes: near while all positions meet them

inline constexpr int64_t kTapsAtATime = 64;  // of an input channel, on the stack

/// packed[element * kTileColumns + i] for the outputs of one panel.
template <class T>
void pack_lane_weights(const ConvWeights<T>& weights, int64_t panel, T* packed) {
  constexpr int64_t width = kTileColumns<T>;
  const int64_t first = panel * width, outputs = std::min(width, weights.outputs - first);
  const int64_t count = weights.tap_count;
  const T* data = weights.data + first * weights.row;
  if (is_dense(weights))
    return pack_lines(data, weights.row, int64_t(1), outputs, weights.majors * count, packed,
                      width);
  const auto [least, most] = std::minmax_element(weights.taps, weights.taps + count);
  const int64_t range = *most - *least + 1;
  const bool turns = range <= kTapsAtATime && range <= 2 * count;
  T lines[static_cast<size_t>(kTapsAtATime * width)];
  for (int64_t major = 0; major < weights.majors; ++major, data += weights.major) {
    if (turns) pack_lines(data + *least, weights.row, int64_t(1), outputs, range, lines, width);
    for (int64_t t = 0; t < count; ++t, packed += width) {
      const int64_t tap = weights.taps[t];
      if (turns)
        std::copy_n(lines + (tap - *least) * width, outputs, packed);
      else
        for (int64_t i = 0; i < outputs; ++i) packed[i] = data[tap + i * weights.row];
    }
  }
}

/// sums[position * kTileColumns + output] of one panel of outputs.
template <class T>
void forward_lanes(const LaneBlock<T>& block) {
  using Packed = ConvPacked<T>;
  using S = ConvSum<T>;
  constexpr int64_t width = kTileColumns<Packed>;
  constexpr int64_t most = kLinesOfWeights / (width * static_cast<int64_t>(sizeof(Packed)));
  const int64_t parts = (block.depth + most - 1) / most, part = (block.depth + parts - 1) / parts;
  for (int64_t p = 0; p < block.depth; p += part) {
    const int64_t depth = std::min(part, block.depth - p);
    const SteppedLines<Packed> weights{block.weights + p * width, width};
    S* sums = block.sums;
    const ConvRun* run = block.runs;
    for (int64_t left = block.positions; left > 0; left -= run++->count) {
      // Tiles of about the same height: short ones wait for their own sums.
      const int64_t tiles = (run->count + kTileRows - 1) / kTileRows;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t first = run->count * t / tiles, last = run->count * (t + 1) / tiles;
        run_tile(last - first, block.outputs, depth,
                 FollowingRows<Packed>{block.source + run->place + first, block.offsets + p},
                 weights, Epilogue<Packed>{sums, width, S(1), S(p ? 1 : 0), nullptr});
        sums += (last - first) * width;
      }
    }
  }
}

/// Some elements of a row of results, rounded.
template <class T>
[[gnu::always_inline]] inline void write_results(T* to, Vector<ConvSum<T>> value,
                                                 const Mask<ConvSum<T>>& mask, int64_t count) {
  if constexpr (std::is_same_v<T, ConvSum<T>>) {
    mask.store(to, value);
  } else {
    const HalfVector halves = narrowed<T>(value);
    if (count == kLanes<ConvSum<T>>)
      *reinterpret_cast<HalfVector*>(to) = halves;
    else
      std::memcpy(static_cast<void*>(to), &halves, static_cast<size_t>(count) * sizeof(T));
  }
}

/// to[output * step + position] = what forward_lanes found + bias[output]; `bias` may be null.
template <class T>
void turn_lanes(const ConvSum<T>* sums, int64_t positions, int64_t outputs, const T* bias, T* to,
                int64_t step) {
  using S = ConvSum<T>;
  constexpr int64_t lanes = kLanes<S>, width = kTileColumns<S>;
  for (int64_t q = 0; q < positions; q += lanes) {
    const int64_t count = std::min(lanes, positions - q);
    const Mask<S> mask(count);
    for (int64_t k = 0; k < outputs; k += lanes) {
      Vector<S> square[lanes];
      for (int64_t i = 0; i < lanes; ++i)
        square[i] = i < count ? load(sums + (q + i) * width + k) : Vector<S>{};
      transpose_square<S>(square);
      for (int64_t i = 0; i < std::min(lanes, outputs - k); ++i) {
        const S shift = bias ? static_cast<S>(bias[k + i]) : S(0);
        write_results(to + (k + i) * step + q, bias ? square[i] + splat(shift) : square[i], mask,
                      count);
      }
    }
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
