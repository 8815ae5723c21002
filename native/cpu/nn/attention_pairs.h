#pragma once

#include "cpu/linalg/gemm_halves.h"
#include "cpu/nn/attention_blocks.h"

// Factors of attention as pairs of bfloat16. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// How many elements hold the steps of a depth. Where products take `whole` of them at a time, as
/// many from any step on as reach the last: zeros follow.
template <int64_t whole>
constexpr int64_t paired_elements(int64_t depth) {
  const int64_t elements = (depth + 1) / 2;
  return whole == 1 ? elements : (elements + whole - 1) / whole * whole + whole;
}

inline void pack_pairs_of(const HalfLines<bfloat16>& lines, int64_t elements, Bfloat16Pair* to) {
  pack_by_element<Paired>(lines, elements, kTileColumns<Bfloat16Pair>, to);
}

/// Heads' matrices [lines, depth], as right factors of that depth.
template <int64_t whole>
class PairedColumns {
 public:
  PairedColumns(const bfloat16* data, int64_t heads, int64_t lines, int64_t depth)
      : packed_(heads, lines, paired_elements<whole>(depth),
                [=](int64_t head, int64_t first, int64_t count, Bfloat16Pair* to) {
                  pack_pairs_of({data + (head * lines + first) * depth, depth, 1, count, depth},
                                paired_elements<whole>(depth), to);
                }) {}
  Panels<Bfloat16Pair> from(int64_t head, int64_t line) const {
    return packed_.from(head, line, 0);
  }

 private:
  PackedHeads<Bfloat16Pair> packed_;
};

/// Heads' matrices [depth, columns], as right factors from an even step of the depth on.
template <int64_t whole>
class PairedRows {
 public:
  PairedRows(const bfloat16* data, int64_t heads, int64_t depth, int64_t columns)
      : packed_(heads, columns, paired_elements<whole>(depth),
                [=](int64_t head, int64_t first, int64_t count, Bfloat16Pair* to) {
                  pack_pairs_of({data + head * depth * columns + first, 1, columns, count, depth},
                                paired_elements<whole>(depth), to);
                }) {}
  Panels<Bfloat16Pair> from(int64_t head, int64_t step) const {
    return packed_.from(head, 0, step / Paired::kSteps);
  }

 private:
  PackedHeads<Bfloat16Pair> packed_;
};

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
/// Two steps of the depth are multiplied at a time, and added in float. Depths that lie along rows
/// in memory are even.
struct Pairs : TilesInVectors {
  using Element = bfloat16;
  using Packed = Bfloat16Pair;
  static constexpr int64_t kSteps = Paired::kSteps;

  static auto rows(const bfloat16* data, int64_t row) {
    return [=](int64_t i) { return PairRows{data + i * row, row}; };
  }

  using Transposed = PairedColumns<1>;
  using Straight = PairedRows<1>;

  /// Rounded; a last step that has no other to pair with gets zeros.
  class Block {
   public:
    void take_rows(const float* scores, int64_t rows, int64_t columns) {
      for (int64_t i = 0; i < rows; ++i) {
        bfloat16* const to = halves_ + i * kScoreStep;
        const float* const from = scores + i * kScoreStep;
        for (int64_t j = 0; j < columns; j += kLanes<float>)
          *reinterpret_cast<HalfVector*>(to + j) = Paired::narrow(load(from + j));
        if (columns % 2) to[columns] = bfloat16(0.0f);
      }
    }
    void take_columns(const float* scores, int64_t rows, int64_t columns) {
      for (int64_t i = 0; i < rows; i += 2)
        for (int64_t j = 0; j < columns; j += kLanes<float>) {
          const float* const from = scores + i * kScoreStep + j;
          Vector<Packed> pair = spread_halves(Paired::narrow(load(from)));
          if (i + 1 < rows) pair |= spread_halves(Paired::narrow(load(from + kScoreStep))) << 16;
          store(pairs_ + i / 2 * kScoreStep + j, pair);
        }
    }
    auto rows() const { return Pairs::rows(halves_, kScoreStep); }
    auto columns() const {
      return [this](int64_t i) { return StridedRows<Packed>{pairs_ + i, 1, kScoreStep}; };
    }

   private:
    alignas(64) bfloat16 halves_[kScoreRows * kScoreStep];
    alignas(64) Packed pairs_[kScoreRows / 2 * kScoreStep];
  };
};
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
