#pragma once

#include <type_traits>
#include <vector>

#include "cpu/lapack/lane_factors.h"
#include "cpu/lapack/matrices.h"
#include "cpu/transpose.h"

namespace flambeau::cpu::lapack {

/// As many matrices as a register has lanes: the same element of all, then the next of the row.
template <class E>
class Lanes {
 public:
  Lanes(int64_t lanes, int64_t rows, int64_t columns)
      : lanes_(lanes), elements_(static_cast<size_t>(rows * columns * lanes)) {}
  E* data() { return elements_.data(); }

  /// From or to those of number `first` on, which have these rows and columns, or are transposed.
  /// `count`: how many these are; lanes behind them have the last one.
  template <class Given>
  void take(const Batch<Given>& matrices, int64_t first, bool transposes = false,
            int64_t count = kMostLanes) {
    each(
        matrices, first, count, transposes,
        [](E* ours, int64_t ours_step, const E* given, int64_t step) {
          transpose_block(words(ours), ours_step, words(given), step);
        },
        [](E& ours, const E& given) { ours = given; });
  }
  void give(const Batch<E>& matrices, int64_t first, bool transposes = false,
            int64_t count = kMostLanes) {
    each(
        matrices, first, count, transposes,
        [](E* ours, int64_t ours_step, E* wanted, int64_t step) {
          transpose_block(words(wanted), step, words(ours), ours_step);
        },
        [](const E& ours, E& wanted) { wanted = ours; });
  }
  /// Nothing where numbers are real.
  void conjugate() {
    if constexpr (kIsComplex<E>)
      for (E& element : elements_) element.im = -element.im;
  }
  void fill_identity(int64_t order) {
    std::fill(elements_.begin(), elements_.end(), E(0));
    for (int64_t i = 0; i < order; ++i)
      std::fill_n(elements_.begin() + i * (order + 1) * lanes_, lanes_, E(1));
  }

 private:
  // What is moved is bits: several elements of several matrices at a time.
  using Word = std::conditional_t<sizeof(E) == 4, uint32_t, uint64_t>;
  static constexpr int64_t kSide = sizeof(E) <= 8 ? kBlock<Word> : 0;
  static Word* words(E* elements) { return reinterpret_cast<Word*>(elements); }
  static const Word* words(const E* elements) { return reinterpret_cast<const Word*>(elements); }

  /// `move_block` moves the same kSide elements of as many matrices, which lie `step` apart.
  template <class Other, class MoveBlock, class Move>
  void each(const Batch<Other>& matrices, int64_t first, int64_t count, bool transposes,
            const MoveBlock& move_block, const Move& move) {
    Other* starts[kMostLanes];
    for (int64_t l = 0; l < lanes_; ++l) starts[l] = matrices[first + std::min(l, count - 1)].data;
    const int64_t step = lanes_ > 1 ? starts[1] - starts[0] : 0, lanes = lanes_;
    // Of exchanges there are as many lanes as of elements, which may be wider: fewer than a side.
    bool is_regular = kSide > 0 && lanes % std::max<int64_t>(kSide, 1) == 0;
    for (int64_t l = 1; l < lanes; ++l) is_regular &= starts[l] - starts[l - 1] == step;
    const Matrix<Other> shape = transposes ? transposed(matrices[first]) : matrices[first];
    // Runs along what is dense in their memory.
    const bool by_columns = shape.column_step != 1 && shape.row_step == 1;
    const int64_t runs = by_columns ? shape.columns : shape.rows;
    const int64_t length = by_columns ? shape.rows : shape.columns;
    const int64_t ours_step = by_columns ? shape.columns * lanes : lanes;
    const int64_t ours_run = by_columns ? lanes : shape.columns * lanes;
    const int64_t their_step = by_columns ? shape.row_step : shape.column_step;
    const int64_t their_run = by_columns ? shape.column_step : shape.row_step;
    int64_t whole = 0;
    if constexpr (kSide > 0) {
      if (is_regular && their_step == 1) whole = length / kSide * kSide;
    }
    for (int64_t run = 0; run < runs; ++run) {
      E* const ours = elements_.data() + run * ours_run;
      if constexpr (kSide > 0) {
        for (int64_t i = 0; i < whole; i += kSide)
          for (int64_t l = 0; l < lanes; l += kSide)
            move_block(ours + i * ours_step + l, ours_step, starts[l] + run * their_run + i, step);
      }
      for (int64_t i = whole; i < length; ++i)
        for (int64_t l = 0; l < lanes; ++l)
          move(ours[i * ours_step + l], starts[l][run * their_run + i * their_step]);
    }
  }
  int64_t lanes_;
  std::vector<E> elements_;
};

inline bool are_tiny(int64_t rows, int64_t columns) { return std::max(rows, columns) <= kTiny; }

/// How many matrices are factored side by side.
template <class T>
int64_t lanes_of(int64_t rows, int64_t columns) {
  return are_tiny(rows, columns) ? lane_factors<T>().lanes : 1;
}

/// Of how many matrices from `begin` on the factors are found side by side: a whole number of lanes
/// where they are tiny.
template <class T>
int64_t count_in_lanes(int64_t begin, int64_t end, int64_t rows, int64_t columns) {
  const int64_t lanes = lane_factors<T>().lanes;
  return are_tiny(rows, columns) ? (end - begin) / lanes * lanes : 0;
}

/// Calls several(first, count) for groups of so many of the matrices [begin, end), the last of
/// which may overlap the one before or be smaller; one(number) for those that are bits of the
/// result.
template <class Several, class One>
void in_groups(int64_t begin, int64_t end, int64_t lanes, const Several& several, const One& one) {
  for (int64_t next = begin; next < end; next += lanes) {
    const int64_t first = std::max(begin, std::min(next, end - lanes));
    const int64_t count = std::min(lanes, end - first);
    const uint32_t left = several(first, count);
    for (int64_t l = 0; left != 0 && l < count; ++l)
      if (left >> l & 1) one(first + l);
  }
}

}  // namespace flambeau::cpu::lapack
