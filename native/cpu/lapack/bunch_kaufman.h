#pragma once

#include <cmath>

#include "cpu/lapack/real_or_complex.h"

/// J. R. Bunch and L. Kaufman, Some Stable Methods for Calculating Inertia and Solving Symmetric
/// Linear Systems, 1977.
namespace flambeau::cpu::lapack {

/// LDL factors of a symmetric or Hermitian matrix of few rows, whose lower triangle is given and
/// replaced: what LAPACK's sytf2 and hetf2 do.
template <class T, bool hermitian>
class BunchKaufman {
 public:
  BunchKaufman(const Matrix<T>& a, int* pivots) : a_(a), n_(a.rows), pivots_(pivots) {}

  /// Returns the number of the first block of D that is 0, from 1; 0: there is none.
  int run() {
    int failed = 0;
    for (int64_t k = 0; k < n_;) {
      const Choice chosen = choose(k);
      if (chosen.is_zero) {
        if (failed == 0) failed = static_cast<int>(k + 1);
        make_real(k);
      } else {
        const int64_t last = k + chosen.rows - 1;
        exchange(k, last, chosen.row);
        for (int64_t i = k; i <= last; ++i) make_real(i);
        chosen.rows == 1 ? eliminate_one(k) : eliminate_two(k);
      }
      const auto number = static_cast<int>(chosen.row + 1);
      std::fill_n(pivots_ + k, chosen.rows, chosen.rows == 1 ? number : -number);
      k += chosen.rows;
    }
    return failed;
  }

 private:
  /// The row that becomes the last one of a block of so many rows.
  struct Choice {
    int64_t row, rows;
    bool is_zero = false;
  };

  static Real<T> size_of(T x) {
    if constexpr (kIsComplex<T>) {
      return std::abs(x.re) + std::abs(x.im);
    } else {
      return std::abs(x);
    }
  }
  Real<T> diagonal_size(int64_t i) const {
    if constexpr (kIsComplex<T> && hermitian) {
      return std::abs(a_(i, i).re);
    } else {
      return size_of(a_(i, i));
    }
  }
  static T turned(T x) { return hermitian ? conjugated(x) : x; }
  void make_real(int64_t i) const {
    if constexpr (kIsComplex<T> && hermitian) a_(i, i).im = 0;
  }

  Choice choose(int64_t k) const {
    static const Real<T> kRatio = (1 + std::sqrt(Real<T>(17))) / 8;  // bounds the growth
    const Real<T> own = diagonal_size(k);
    int64_t row = k;
    Real<T> most = 0;
    for (int64_t i = k + 1; i < n_; ++i) {
      if (!(size_of(a_(i, k)) > most)) continue;
      most = size_of(a_(i, k));
      row = i;
    }
    if (std::max(own, most) == 0 || std::isnan(own)) return {k, 1, true};
    if (own >= kRatio * most) return {k, 1};
    Real<T> beside = 0;
    for (int64_t j = k; j < row; ++j) beside = std::max(beside, size_of(a_(row, j)));
    for (int64_t i = row + 1; i < n_; ++i) beside = std::max(beside, size_of(a_(i, row)));
    if (own >= kRatio * most * (most / beside)) return {k, 1};
    if (diagonal_size(row) >= kRatio * beside) return {row, 1};
    return {row, 2};
  }

  /// Of the block that begins in row k, the last row and column with others.
  void exchange(int64_t k, int64_t last, int64_t other) const {
    if (other == last) return;
    for (int64_t i = other + 1; i < n_; ++i) std::swap(a_(i, last), a_(i, other));
    for (int64_t j = last + 1; j < other; ++j) {
      const T below = a_(j, last);
      a_(j, last) = turned(a_(other, j));
      a_(other, j) = turned(below);
    }
    a_(other, last) = turned(a_(other, last));
    std::swap(a_(last, last), a_(other, other));
    make_real(last);
    make_real(other);
    if (last > k) std::swap(a_(last, k), a_(other, k));
  }

  void eliminate_one(int64_t k) const {
    const T inverse = T(1) / a_(k, k);
    for (int64_t j = k + 1; j < n_; ++j) {
      const T factor = inverse * turned(a_(j, k));
      for (int64_t i = j; i < n_; ++i) a_(i, j) = a_(i, j) - a_(i, k) * factor;
      make_real(j);
    }
    for (int64_t i = k + 1; i < n_; ++i) a_(i, k) = a_(i, k) * inverse;
  }

  /// By the inverse of a block in units of the element beside its diagonal, which is the largest.
  void eliminate_two(int64_t k) const {
    const T beside = a_(k + 1, k), opposite = turned(beside);
    const T first = a_(k + 1, k + 1) / beside, second = a_(k, k) / opposite;
    const T factor = T(1) / (first * second - T(1));
    for (int64_t j = k + 2; j < n_; ++j) {
      // (x, y) B^-1, of B = [[a, conj(beside)], [beside, d]].
      const T x = a_(j, k), y = a_(j, k + 1);
      const T one = factor * (first * x - y) / opposite;
      const T two = factor * (second * y - x) / beside;
      const T turned_one = turned(one), turned_two = turned(two);
      for (int64_t i = j; i < n_; ++i)
        a_(i, j) = a_(i, j) - (a_(i, k) * turned_one + a_(i, k + 1) * turned_two);
      a_(j, k) = one;
      a_(j, k + 1) = two;
      make_real(j);
    }
  }

  Matrix<T> a_;
  int64_t n_;
  int* pivots_;
};

}  // namespace flambeau::cpu::lapack
