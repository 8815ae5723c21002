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

/// Heads' matrices [rows, columns] as right factors: transposed, so that columns are the depth,
/// from any row on that begins a panel, or as they are, so that rows are, from an even row on.
template <int64_t whole, bool are_transposed>
class PairedHeads {
 public:
  PairedHeads(const bfloat16* data, int64_t heads, int64_t rows, int64_t columns)
      : packed_(heads, are_transposed ? rows : columns,
                paired_elements<whole>(are_transposed ? columns : rows),
                [=](int64_t head, int64_t first, int64_t count, Bfloat16Pair* to) {
                  using Lines = StridedLines<bfloat16>;
                  const bfloat16* const matrix = data + head * rows * columns;
                  const Lines lines =
                      are_transposed ? Lines{matrix + first * columns, columns, 1, count, columns}
                                     : Lines{matrix + first, 1, columns, count, rows};
                  pack_by_element<Paired>(lines, paired_elements<whole>(lines.depth),
                                          kTileColumns<Bfloat16Pair>, to);
                }) {}
  Panels<Bfloat16Pair> from(int64_t head, int64_t row) const {
    return are_transposed ? packed_.from(head, row, 0)
                          : packed_.from(head, 0, row / Paired::kSteps);
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

  using Transposed = PairedHeads<1, true>;
  using Straight = PairedHeads<1, false>;

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
          const HalfVector low = Paired::narrow(load(from));
          const HalfVector high =
              i + 1 < rows ? Paired::narrow(load(from + kScoreStep)) : HalfVector{};
          store(pairs_ + i / 2 * kScoreStep + j, pair_rows(low, high));
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
