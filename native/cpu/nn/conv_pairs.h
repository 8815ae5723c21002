#pragma once

#include <algorithm>

#include "cpu/nn/conv_forward.h"
#include "cpu/nn/conv_padding.h"

// Pairs of bfloat16 of two channels: the source and the filters of convolutions with vectors of
// outputs. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
inline constexpr int64_t kPairLanes = kLanes<Bfloat16Pair>;

/// The first `count` halves, no more than a vector has pairs; the others are 0.
inline HalfVector first_halves(const bfloat16* from, int64_t count) {
  const auto mask = static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, kPairLanes)) - 1);
  return load_halves(mask, from);
}

/// to[i] = the pair of from[i * step] and next[i * step]; `next` may be null: 0.
inline void copy_pairs(const bfloat16* from, const bfloat16* next, int64_t step, int64_t count,
                       Bfloat16Pair* to) {
  int64_t i = 0;
  if (step == 2) {
    // Each with its neighbour, which the last may not have.
    const auto evens = [](const bfloat16* halves) {
      Vector<Bfloat16Pair> both;
      std::memcpy(&both, halves, sizeof both);
      return both & 0xffff;
    };
    for (; i + kPairLanes < count; i += kPairLanes) {
      const Vector<Bfloat16Pair> low = evens(from + 2 * i);
      store(to + i, next ? low | evens(next + 2 * i) << 16 : low);
    }
  }
  for (; i < count; ++i) {
    const uint32_t high = next ? next[i * step].bits : 0;
    to[i] = from[i * step].bits | high << 16;
  }
}

inline void pad_pairs(const SourceRows<bfloat16>& rows, const bfloat16* next, Bfloat16Pair* to) {
  if (rows.step == 1) {
    const auto read = [&](int64_t count, int64_t lane) {
      const auto mask = static_cast<__mmask16>(((1u << count) - 1) << lane);
      return [mask, data = rows.data, next](int64_t place) {
        return pair_rows(load_halves(mask, data + place),
                         next ? load_halves(mask, next + place) : HalfVector{});
      };
    };
    pad_by_vectors(rows, to, read, read(kPairLanes, 0));
  } else {
    pad_by_elements(rows, to, [&](int64_t place, Bfloat16Pair* row) {
      copy_pairs(rows.data + place, next ? next + place : nullptr, rows.step, rows.count, row);
    });
  }
}

/// Filters whose taps follow each other in memory: elements of one output, a vector at a time, lie
/// in two vectors of halves that begin at a pair of channels.
class DensePairs {
 public:
  static constexpr int64_t kMostTaps = kPairLanes, kWindow = 4 * kPairLanes;
  static constexpr int64_t kAhead = 8 * kPairLanes;  // many lines are read side by side

  explicit DensePairs(int64_t taps) : taps_(taps) {
    if (taps > kMostTaps) return;
    for (int64_t phase = 0; phase < taps; ++phase)
      for (int64_t e = 0; e < kPairLanes; ++e) {
        const int64_t place = (phase + e) / taps * 2 * taps + (phase + e) % taps;
        places_[phase][2 * e] = static_cast<uint16_t>(place);
        places_[phase][2 * e + 1] = static_cast<uint16_t>(place + taps);
        last_ = std::max(last_, place + taps);
      }
  }
  bool fits() const { return taps_ <= kMostTaps && last_ < kWindow; }

  /// Elements from the one numbered `e` on, of a line of `depth` halves.
  Vector<Bfloat16Pair> read(const bfloat16* line, int64_t depth, int64_t e) const {
    const int64_t begin = e / taps_ * 2 * taps_, left = depth - begin;
    const auto mask = [](int64_t count) {
      return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(count, 0, 32)) - 1);
    };
    const __m512i first = _mm512_maskz_loadu_epi16(mask(left), line + begin);
    const __m512i second = _mm512_maskz_loadu_epi16(mask(left - 32), line + begin + 32);
    __builtin_prefetch(line + begin + kAhead);
    const __m512i places = _mm512_loadu_si512(places_[e % taps_]);
    return (Vector<Bfloat16Pair>)_mm512_permutex2var_epi16(first, places, second);
  }

 private:
  int64_t taps_, last_ = 0;
  uint16_t places_[kMostTaps][2 * kPairLanes] = {};
};

/// packed[element * kTileColumns + i] for the outputs of one panel; an element is a tap of two
/// channels.
inline void pack_lane_pairs(const ConvWeights<bfloat16>& weights, int64_t panel,
                            Bfloat16Pair* packed) {
  constexpr int64_t width = kTileColumns<Bfloat16Pair>, lanes = kPairLanes;
  const int64_t outputs = std::min(width, weights.outputs - panel * width);
  const int64_t count = weights.tap_count, pairs = (weights.majors + 1) / 2;
  const bfloat16* const data = weights.data + panel * width * weights.row;
  Vector<Bfloat16Pair> square[lanes];
  const DensePairs dense(count);
  if (is_dense(weights) && dense.fits()) {
    const int64_t elements = pairs * count, depth = weights.majors * count;
    for (int64_t e = 0; e < elements; e += lanes)
      for (int64_t i = 0; i < outputs; i += lanes) {
        for (int64_t r = 0; r < lanes; ++r)
          square[r] = i + r < outputs ? dense.read(data + (i + r) * weights.row, depth, e)
                                      : Vector<Bfloat16Pair>{};
        transpose_square<Bfloat16Pair>(square);
        for (int64_t q = 0; q < std::min(lanes, elements - e); ++q)
          store(packed + (e + q) * width + i, square[q]);
      }
    return;
  }
  const int64_t range = *std::max_element(weights.taps, weights.taps + count) + 1;
  for (int64_t pair = 0; pair < pairs; ++pair, packed += count * width)
    for (int64_t i = 0; i < outputs; i += lanes)
      for (int64_t first = 0; first < range; first += lanes) {
        const bool is_pair = 2 * pair + 1 < weights.majors;
        for (int64_t r = 0; r < lanes; ++r) {
          square[r] = Vector<Bfloat16Pair>{};
          if (i + r >= outputs) continue;
          const bfloat16* const line =
              data + (i + r) * weights.row + 2 * pair * weights.major + first;
          const int64_t left = range - first;
          square[r] = pair_rows(first_halves(line, left),
                                is_pair ? first_halves(line + weights.major, left) : HalfVector{});
        }
        transpose_square<Bfloat16Pair>(square);
        for (int64_t t = 0; t < count; ++t) {
          const int64_t q = weights.taps[t] - first;
          if (q >= 0 && q < lanes) store(packed + t * width + i, square[q]);
        }
      }
}
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
