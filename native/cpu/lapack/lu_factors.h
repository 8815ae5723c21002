#pragma once

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/lanes.h"

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
  bool is_tiny() const { return are_tiny(rows(), columns()); }

  void find(int64_t index) const {
    copy<T>(given[index], wanted[index]);
    *status[index].data = factor(wanted[index], swaps[index].data);
  }
};

/// Factors of as many tiny matrices at once as a register has lanes.
template <class T>
class TinyFactors {
 public:
  explicit TinyFactors(const Factors<T>& all)
      : all_(all),
        elements_(kernels_.lanes, all.rows(), all.columns()),
        swaps_(kernels_.lanes, all.least(), 1),
        failed_(kernels_.lanes, 1, 1) {}

  /// Of matrices from number `first` on.
  void find(int64_t first) {
    elements_.take(all_.given, first);
    kernels_.factor(all_.rows(), all_.columns(), elements_.data(), swaps_.data(), failed_.data());
    failed_.give(all_.status, first);
  }
  void keep(int64_t first) {
    elements_.give(all_.wanted, first);
    swaps_.give(all_.swaps, first);
  }
  /// What each diagonal and its exchanges give: body(number of the matrix, diagonal, step of it,
  /// exchanges, step of these).
  template <class Body>
  void read(int64_t first, const Body& body) {
    const int64_t lanes = kernels_.lanes;
    for (int64_t l = 0; l < lanes; ++l)
      body(first + l, elements_.data() + l, (all_.columns() + 1) * lanes, swaps_.data() + l, lanes);
  }
  /// Once: factors are destroyed.
  void solve(Lanes<T>& b, int64_t columns) {
    kernels_.solve(false, all_.rows(), columns, elements_.data(), swaps_.data(), b.data());
  }

 private:
  const LaneFactors<T>& kernels_ = lane_factors<T>();
  const Factors<T>& all_;
  Lanes<T> elements_;
  Lanes<int> swaps_, failed_;
};

}  // namespace flambeau::cpu::lapack
