#pragma once

#include "cpu/linalg/matrix_tiles.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/attention_pairs.h"

// Factors of attention for registers that hold matrices (AMX). Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
/// Pairs of bfloat16 in whole blocks of 32 steps: what is missing of the last one is zero.
template <class Registers>
struct Matrices {
  using Element = bfloat16;
  using Packed = Bfloat16Pair;
  using Tiles = MatrixTiles<Registers>;
  using Session = typename Registers::Configured;
  static constexpr int64_t kSteps = Paired::kSteps;
  static constexpr int64_t kBlock = Tiles::kMultiple * kSteps;  // steps of the depth

  static constexpr int64_t padded(int64_t depth) { return (depth + kBlock - 1) / kBlock * kBlock; }

  /// Rows of a left factor. Those that `are_padded` may be read up to whole blocks.
  struct Rows {
    const bfloat16* data;
    int64_t row;
    bool are_padded;
  };
  static Rows rows(const bfloat16* data, int64_t row) { return {data, row, false}; }

  using Transposed = PairedHeads<Tiles::kMultiple, true>;
  using Straight = PairedHeads<Tiles::kMultiple, false>;

  /// Rounded; zeros follow up to whole blocks.
  class Block {
   public:
    void take_rows(const float* scores, int64_t rows, int64_t columns) {
      constexpr int64_t lanes = kLanes<float>;
      const int64_t whole = columns / lanes * lanes;
      for (int64_t i = 0; i < rows; ++i, scores += kScoreStep) {
        bfloat16* const to = rows_ + i * kScoreStep;
        const auto put = [to](int64_t j, Vector<float> values) {
          *reinterpret_cast<HalfVector*>(to + j) = Paired::narrow(values);
        };
        for (int64_t j = 0; j < whole; j += lanes) put(j, load(scores + j));
        for (int64_t j = whole; j < padded(columns); j += lanes) put(j, Vector<float>{});
        if (whole < columns) put(whole, Mask<float>(columns - whole).load(scores + whole));
      }
    }
    void take_columns(const float* scores, int64_t rows, int64_t columns) {
      constexpr int64_t lanes = kLanes<float>;
      for (int64_t j = 0; j < columns; j += lanes)
        for (int64_t i = 0; i < padded(rows); i += kBlock) {
          Vector<Packed> square[lanes];
          for (int64_t p = 0; p < lanes; ++p)
            square[p] = pair(scores + (i + 2 * p) * kScoreStep + j, rows - i - 2 * p);
          transpose_square<Packed>(square);
          for (int64_t q = 0; q < lanes; ++q)
            store(columns_ + ((j + q) * kColumnStep + i) / kSteps, square[q]);
        }
    }
    Rows rows() const { return {rows_, kScoreStep, true}; }
    Rows columns() const {
      return {reinterpret_cast<const bfloat16*>(columns_), kColumnStep, true};
    }

   private:
    static constexpr int64_t kColumnStep = padded(kScoreRows);
    static Vector<Packed> pair(const float* scores, int64_t left) {
      if (left <= 0) return Vector<Packed>{};
      return pair_rows(Paired::narrow(load(scores)),
                       left > 1 ? Paired::narrow(load(scores + kScoreStep)) : HalfVector{});
    }
    alignas(64) bfloat16 rows_[kScoreRows * kScoreStep];
    alignas(64) Packed columns_[kScoreColumns * kColumnStep / kSteps];
  };

  /// c = alpha a b + beta c. Sums are stored in one buffer while the next are computed, and leave
  /// the other.
  static void add_product(int64_t rows, int64_t columns, int64_t elements, const Rows& a,
                          const Panels<Packed>& b, float* c, int64_t ldc, float alpha, float beta) {
    constexpr int64_t kTall = Tiles::kRows, kWide = Tiles::kColumns;
    const int64_t depth = padded(elements * kSteps);
    const Rows left = whole_rows(a, rows, elements * kSteps);
    const int64_t line = left.row * 2;
    alignas(64) float sums[2][kTall * kWide];
    Target waiting{};
    int turn = 0;
    for (int64_t j = 0; j < columns; j += kWide) {
      const Packed* const panel = b.from_column(j).data;
      for (int64_t i = 0; i < rows; i += kTall, turn = 1 - turn) {
        const LeftBlocks blocks{left.data + i * left.row, line, line * 16, kBlock * 2};
        if (rows - i > kTall / 2)
          Tiles::template multiply<2>(depth / kSteps, blocks, panel, sums[turn]);
        else
          Tiles::template multiply<1>(depth / kSteps, blocks, panel, sums[turn]);
        waiting.add(sums[1 - turn], ldc, alpha, beta);
        waiting = {c + i * ldc + j, std::min(kTall, rows - i), std::min(kWide, columns - j)};
      }
    }
    waiting.add(sums[1 - turn], ldc, alpha, beta);
  }

 private:
  /// Where sums of a tile go.
  struct Target {
    float* c;
    int64_t rows, columns;
    void add(const float* sums, int64_t ldc, float alpha, float beta) const {
      if (columns == Tiles::kColumns && beta == 0)
        return each<false>(sums, ldc, alpha, beta, [](int64_t) { return Whole(); });
      if (columns == Tiles::kColumns)
        return each<true>(sums, ldc, alpha, beta, [](int64_t) { return Whole(); });
      each<true>(sums, ldc, alpha, beta, [this](int64_t j) {
        return Mask<float>(std::clamp<int64_t>(columns - j, 0, kLanes<float>));
      });
    }

   private:
    struct Whole {
      static Vector<float> load(const float* from) { return FLAMBEAU_ISA::load(from); }
      static void store(float* to, Vector<float> value) { FLAMBEAU_ISA::store(to, value); }
    };
    /// `lanes_at(j)`: which of a vector's columns there are from j on.
    template <bool reads, class LanesAt>
    void each(const float* sums, int64_t ldc, float alpha, float beta,
              const LanesAt& lanes_at) const {
      float* to = c;
      for (int64_t i = 0; i < rows; ++i, to += ldc, sums += Tiles::kColumns)
        for (int64_t j = 0; j < Tiles::kColumns; j += kLanes<float>) {
          const auto lanes = lanes_at(j);
          Vector<float> value = load(sums + j) * splat(alpha);
          if (reads && beta != 0) value += lanes.load(to + j) * splat(beta);
          lanes.store(to + j, value);
        }
    }
  };

  /// The rows themselves, or a copy with zeros where a register would read beyond them.
  static Rows whole_rows(const Rows& a, int64_t rows, int64_t depth) {
    constexpr int64_t height = Tiles::kMultiple;
    if (a.are_padded || (rows % height == 0 && depth % kBlock == 0)) return a;
    const int64_t tall = (rows + height - 1) / height * height, deep = padded(depth);
    bfloat16* const copy = scratch<bfloat16>(3, static_cast<size_t>(tall * deep));
    std::fill_n(copy, tall * deep, bfloat16(0.0f));
    for (int64_t i = 0; i < rows; ++i) std::copy_n(a.data + i * a.row, depth, copy + i * deep);
    return {copy, deep, true};
  }
};
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
