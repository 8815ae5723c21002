#pragma once

#include <type_traits>
#include <vector>

#include "cpu/lapack/lane_factors.h"
#include "cpu/lapack/lane_moves.h"
#include "cpu/lapack/matrices.h"

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
        [&](int64_t length, auto* const* at, E* ours, int64_t step) {
          lane_moves<Word>().gather(lanes_, length, at, words(ours), step);
        },
        [](E& ours, const E& given) { ours = given; });
  }
  void give(const Batch<E>& matrices, int64_t first, bool transposes = false,
            int64_t count = kMostLanes) {
    each(
        matrices, first, count, transposes,
        [&](int64_t length, auto* const* at, E* ours, int64_t step) {
          lane_moves<Word>().scatter(lanes_, length, words(ours), step, at);
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
  // What is moved is bits, of numbers of 16 bytes one at a time.
  using Word = std::conditional_t<sizeof(E) == 4, uint32_t, uint64_t>;
  static constexpr bool kAreWords = sizeof(E) == sizeof(Word);
  static Word* words(E* elements) { return reinterpret_cast<Word*>(elements); }
  static const Word* words(const E* elements) { return reinterpret_cast<const Word*>(elements); }

  /// `move_run` moves so many elements that lie one behind the other in each matrix.
  template <class Other, class MoveRun, class Move>
  void each(const Batch<Other>& matrices, int64_t first, int64_t count, bool transposes,
            const MoveRun& move_run, const Move& move) {
    const int64_t lanes = lanes_;
    Other* starts[kMostLanes];
    for (int64_t l = 0; l < lanes; ++l) starts[l] = matrices[first + std::min(l, count - 1)].data;
    const Matrix<Other> shape = transposes ? transposed(matrices[first]) : matrices[first];
    // Runs along what is dense in their memory.
    const bool by_columns = shape.column_step != 1 && shape.row_step == 1;
    int64_t runs = by_columns ? shape.columns : shape.rows;
    int64_t length = by_columns ? shape.rows : shape.columns;
    const int64_t ours_step = by_columns ? shape.columns * lanes : lanes;
    const int64_t ours_run = by_columns ? lanes : shape.columns * lanes;
    const int64_t their_step = by_columns ? shape.row_step : shape.column_step;
    const int64_t their_run = by_columns ? shape.column_step : shape.row_step;
    if (!by_columns && their_step == 1 && their_run == length) {
      length *= runs;
      runs = std::min<int64_t>(runs, 1);
    }
    for (int64_t run = 0; run < runs; ++run) {
      E* const ours = elements_.data() + run * ours_run;
      if (kAreWords && their_step == 1) {
        using OtherWord = std::conditional_t<std::is_const_v<Other>, const Word, Word>;
        OtherWord* at[kMostLanes];
        for (int64_t l = 0; l < lanes; ++l) at[l] = words(starts[l] + run * their_run);
        move_run(length, at, ours, ours_step);
        continue;
      }
      for (int64_t i = 0; i < length; ++i)
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
