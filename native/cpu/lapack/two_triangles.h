#pragma once

#include "cpu/lapack/low_rank.h"

namespace flambeau::cpu::lapack {

/// Least squares of matrices of low rank without exchanges, where A = Q R and the last rows of R
/// nearly vanish. The first k rows are L P_1^H with reflections of their own, so that
///   A = Q [L 0; C D] P^H,
/// of which D is left out: where it counts for nothing and L is regular, k is the rank. What
/// rounding puts into the last rows of R lies mostly in the space of the rows of A, and so in C,
/// which counts.
template <class T>
class TwoTriangles {
 public:
  explicit TwoTriangles(Real<T> rcond) : rcond_(static_cast<double>(rcond)) {}
  /// Looks at R, an upper triangle or trapezoid; what is below it does not count. Returns the rank;
  /// -1: that is not known.
  int64_t prepare(const Matrix<const T>& r);
  /// b, with as many rows as R's longer side, is Q^H b in the first ones, and becomes the solution.
  void solve(const Matrix<T>& b);

 private:
  double size_of_rest();
  Matrix<T> wide(Scratch<T>& memory, const Matrix<const T>& first, int64_t from);

  double rcond_;
  int64_t rows_ = 0, columns_ = 0, rank_ = 0;
  Matrix<T> turned_{}, rest_{};  ///< P and L^H as reflections; the last rows of R
  TriangleRange<T> range_;
  Scratch<T> turned_memory_, rest_memory_, tau_, lines_, right_, unknown_;
};

}  // namespace flambeau::cpu::lapack
