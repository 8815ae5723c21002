#pragma once

#include <vector>

#include "cpu/lapack/lane_factors.h"
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
  template <class Given>
  void take(const Batch<Given>& matrices, int64_t first, bool transposes = false) {
    each(matrices, first, transposes, [](E& ours, const E& given) { ours = given; });
  }
  void give(const Batch<E>& matrices, int64_t first, bool transposes = false) {
    each(matrices, first, transposes, [](const E& ours, E& wanted) { wanted = ours; });
  }

 private:
  template <class Other, class Move>
  void each(const Batch<Other>& matrices, int64_t first, bool transposes, const Move& move) {
    Other* starts[kMostLanes];
    for (int64_t l = 0; l < lanes_; ++l) starts[l] = matrices[first + l].data;
    const Matrix<Other> shape = transposes ? transposed(matrices[first]) : matrices[first];
    E* ours = elements_.data();
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t j = 0; j < shape.columns; ++j) {
        const int64_t place = i * shape.row_step + j * shape.column_step;
        for (int64_t l = 0; l < lanes_; ++l) move(*ours++, starts[l][place]);
      }
    }
  }
  int64_t lanes_;
  std::vector<E> elements_;
};

inline bool are_tiny(int64_t rows, int64_t columns) { return std::max(rows, columns) <= kTiny; }

/// Of how many matrices from `begin` on the factors are found side by side: a whole number of lanes
/// where they are tiny.
template <class T>
int64_t count_in_lanes(int64_t begin, int64_t end, int64_t rows, int64_t columns) {
  const int64_t lanes = lane_factors<T>().lanes;
  return are_tiny(rows, columns) ? (end - begin) / lanes * lanes : 0;
}

}  // namespace flambeau::cpu::lapack
