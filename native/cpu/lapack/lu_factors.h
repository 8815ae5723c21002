#pragma once

#include <vector>

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/small_factors.h"

/// LU factors of batches, one matrix after the other or, of a few numbers each, side by side.
namespace flambeau::cpu::lapack {

/// LU factors, with the exchanges and the failure of each.
template <class T>
struct Factors {
  Batch<const T> given;
  Batch<T> wanted;
  Batch<int> swaps, status;

  Factors(const Tensor& LU, const Tensor& pivots, const Tensor& info, const Tensor& A)
      : given(A), wanted(LU), swaps(pivots, 1), status(info, 0) {}
  int64_t rows() const { return given.rows(); }
  int64_t columns() const { return given.columns(); }
  int64_t least() const { return std::min(rows(), columns()); }
  int64_t work() const { return rows() * columns() * least(); }
  bool is_tiny() const { return std::max(rows(), columns()) <= kTiny; }

  void find(int64_t index) const {
    copy<T>(given[index], wanted[index]);
    *status[index].data = factor(wanted[index], swaps[index].data);
  }
};

/// The same element of as many matrices as a register has lanes, then the next of the row.
template <class T>
class Lanes {
 public:
  Lanes(int64_t rows, int64_t columns)
      : columns_(columns), elements_(static_cast<size_t>(rows * columns * lanes_)) {}
  T* data() { return elements_.data(); }
  /// Matrices from number `first` on.
  template <class E>
  void take(const Batch<E>& matrices, int64_t first) {
    each(matrices, first, [](T& ours, const T& given) { ours = given; });
  }
  void give(const Batch<T>& matrices, int64_t first) {
    each(matrices, first, [](const T& ours, T& wanted) { wanted = ours; });
  }

 private:
  template <class E, class Move>
  void each(const Batch<E>& matrices, int64_t first, const Move& move) {
    for (int64_t l = 0; l < lanes_; ++l) {
      const Matrix<E> matrix = matrices[first + l];
      for (int64_t i = 0; i < matrix.rows; ++i)
        for (int64_t j = 0; j < matrix.columns; ++j)
          move(elements_[static_cast<size_t>((i * columns_ + j) * lanes_ + l)], matrix(i, j));
    }
  }
  const int64_t lanes_ = small_factors<T>().lanes;
  int64_t columns_;
  std::vector<T> elements_;
};

/// Factors of as many matrices at once.
template <class T>
class TinyFactors {
 public:
  explicit TinyFactors(const Factors<T>& all)
      : all_(all),
        elements_(all.rows(), all.columns()),
        swaps_(static_cast<size_t>(all.least() * lanes_)),
        failed_(static_cast<size_t>(lanes_)) {}

  /// Matrices from number `first` on.
  void find(int64_t first) {
    elements_.take(all_.given, first);
    small_factors<T>().factor_lanes(all_.rows(), all_.columns(), elements_.data(), swaps_.data(),
                                    failed_.data());
    for (int64_t l = 0; l < lanes_; ++l)
      *all_.status[first + l].data = failed_[static_cast<size_t>(l)];
  }
  void keep(int64_t first) {
    elements_.give(all_.wanted, first);
    for (int64_t l = 0; l < lanes_; ++l)
      for (int64_t k = 0; k < all_.least(); ++k)
        all_.swaps[first + l].data[k] = swaps_[static_cast<size_t>(k * lanes_ + l)];
  }
  void solve(Lanes<T>& b, int64_t columns) {
    small_factors<T>().solve_lanes(all_.rows(), columns, elements_.data(), swaps_.data(), b.data());
  }

 private:
  const Factors<T>& all_;
  const int64_t lanes_ = small_factors<T>().lanes;
  Lanes<T> elements_;
  std::vector<int> swaps_, failed_;
};

}  // namespace flambeau::cpu::lapack
