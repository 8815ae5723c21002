#pragma once

#include <complex>
#include <vector>

#include "cpu/lapack/pivoted_columns.h"
#include "cpu/lapack/small_factors.h"

/// Least squares of matrices of any rank, without LAPACK.
namespace flambeau::cpu::lapack {

/// An approximate singular vector of the growing triangle R of a QR factorization, and by how much
/// R^H scales it (C. Bischof, Incremental Condition Estimation, 1990).
template <class T, bool greatest>
class SingularVector {
 public:
  void begin(T diagonal, int64_t most) {
    scale_ = std::abs(wide(diagonal));
    elements_.assign(1, Wide(1));
    elements_.reserve(static_cast<size_t>(most));
  }
  /// What the scale becomes with a further column, of `above` elements over the diagonal one. The
  /// vector is (s x, c) where (s, c) is that singular vector of [[scale, 0], [above^H x,
  /// conj(diagonal)]].
  double offer(const T* above, T diagonal) {
    Wide along(0);
    for (size_t i = 0; i < elements_.size(); ++i) along += turned(wide(above[i])) * elements_[i];
    const double own = std::abs(wide(diagonal)), mixed = std::abs(along);
    const double a = scale_ * scale_ + mixed * mixed, d = own * own;
    const Wide b = turned(along) * turned(wide(diagonal));
    const double half = (a - d) / 2, root = std::hypot(half, std::abs(b));
    const double most = (a + d) / 2 + root;
    Wide first(1), second(0);  // of the greatest
    if (std::abs(b) > 0 || a < d) {
      first = half >= 0 ? Wide(half + root) : b;
      second = half >= 0 ? turned(b) : Wide(root - half);
    }
    const double length = std::hypot(std::abs(first), std::abs(second));
    first_ = greatest ? first / length : -turned(second) / length;
    second_ = greatest ? second / length : turned(first) / length;
    const double top = std::sqrt(most);
    offered_ = greatest ? top : top > 0 ? scale_ * own / top : 0;
    return offered_;
  }
  void accept() {
    for (Wide& element : elements_) element *= first_;
    elements_.push_back(second_);
    scale_ = offered_;
  }
  double scale() const { return scale_; }

 private:
  using Wide = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;
  static Wide turned(Wide value) {
    if constexpr (kIsComplex<T>) {
      return std::conj(value);
    } else {
      return value;
    }
  }
  static Wide wide(T value) {
    if constexpr (kIsComplex<T>) {
      return {static_cast<double>(value.re), static_cast<double>(value.im)};
    } else {
      return static_cast<double>(value);
    }
  }

  std::vector<Wide> elements_;
  Wide first_, second_;
  double scale_ = 0, offered_ = 0;
};

/// By estimates of the greatest and the least singular value of a triangle that grows column by
/// column.
template <class T>
class TriangleRange {
 public:
  /// Takes column k, whose first element is the triangle's own, unless counts(greatest, least)
  /// denies it, or the first one is 0.
  template <class Counts>
  bool take(int64_t k, const T* column, int64_t most, const Counts& counts) {
    if (k == 0) {
      if (column[0] == T(0)) return false;
      greatest_.begin(column[0], most);
      least_.begin(column[0], most);
      return true;
    }
    if (!counts(greatest_.offer(column, column[k]), least_.offer(column, column[k]))) return false;
    greatest_.accept();
    least_.accept();
    return true;
  }
  /// Whether the least one counts, by far, beside the greatest one; NaN does not.
  bool is_far_from_lower_rank(const Matrix<const T>& triangle, double rcond) {
    constexpr double kDoubt = 4;
    const auto counts = [=](double greatest, double least) {
      return greatest * kDoubt * rcond < least;
    };
    for (int64_t k = 0; k < triangle.columns; ++k)
      if (!take(k, &triangle(0, k), triangle.columns, counts)) return false;
    return true;
  }
  double greatest() const { return greatest_.scale(); }
  double least() const { return least_.scale(); }

 private:
  SingularVector<T, true> greatest_;
  SingularVector<T, false> least_;
};

/// min |a x - b| with the least x, where all rows of `a`, which is wide, count.
template <class T>
class WideSolver {
 public:
  /// By columns, with room for the transpose.
  Matrix<T> factors(int64_t rows, int64_t columns) {
    return {factors_.of(rows * columns), rows, columns, 1, rows};
  }
  T* tau(int64_t count) { return tau_.of(count); }
  /// `factors`: of the transpose. Then x is conj(Q) y, where R' y = b, whose further rows are 0.
  static void solve(const Matrix<T>& factors, const T* tau, const Matrix<T>& b) {
    const int64_t count = factors.columns;
    const Matrix<const T> triangle = constant(part(factors, 0, 0, count, count));
    solve_triangle(transposed(triangle), part(b, 0, 0, count, b.columns), false, false);
    apply_reflections(transposed(b), constant(factors), tau, count, false, true);
  }

 private:
  Scratch<T> factors_, tau_;
};

/// Columns are exchanged so that the first ones, as many as count, are far from each other (G.
/// Golub and C. Van Loan, Matrix Computations, 5.5).
template <class T>
class LowRankSolver {
 public:
  explicit LowRankSolver(Real<T> rcond) : rcond_(static_cast<double>(rcond)) {}

  /// `a` lies by columns and is destroyed; `b` has as many rows as the longer side of it, and
  /// becomes the solution. Returns the rank.
  int64_t operator()(const Matrix<T>& a, const Matrix<T>& b) {
    const int64_t rank = factor(a), n = a.columns;
    T* const tau = tau_.of(0);
    if (rank > 0) {
      apply_reflections(part(b, 0, 0, a.rows, b.columns), constant(part(a, 0, 0, a.rows, rank)),
                        tau, rank, true, true);
      for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t i = rank; i < n; ++i) b(i, j) = T(0);
    }
    const Matrix<T> x = part(b, 0, 0, n, b.columns);
    if (rank == n) {
      solve_triangle(constant(part(a, 0, 0, n, n)), x, true, false);
    } else if (rank > 0) {
      const Matrix<T> wide = wide_.factors(n, rank);
      for (int64_t j = 0; j < rank; ++j)
        for (int64_t i = 0; i < n; ++i) wide(i, j) = i < j ? T(0) : a(j, i);
      T* const turns = wide_.tau(rank);
      factor_by_reflections(wide, turns);
      wide_.solve(wide, turns, x);
    } else {
      for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t i = 0; i < n; ++i) x(i, j) = T(0);
    }
    put_back(x);
    return rank;
  }

 private:
  static constexpr int64_t kFewPivoted = 48;  // that are factored one by one

  /// As long as the least singular value counts beside the greatest one.
  int64_t factor(const Matrix<T>& a) {
    const int64_t most = std::min(a.rows, a.columns);
    double* const norms = norms_.of(2 * a.columns);
    const PivotedColumns<T> columns{a.rows,        a.columns,        a.data,
                                    a.column_step, tau_.of(most),    places_.of(a.columns),
                                    norms,         norms + a.columns};
    if (most <= kFewPivoted) {
      for (int64_t k = 0; k < most; ++k) {
        small_factors<T>().reflect_greatest(columns, k);
        if (!counts(a, k)) return k;
      }
      return most;
    }
    PivotedPanels<T> panels(columns);
    for (int64_t k = 0; k < most; panels.settle())
      for (const int64_t end = panels.advance(); k < end; ++k)
        if (!counts(a, k)) return k;
    return most;
  }
  /// NaN counts.
  bool counts(const Matrix<T>& a, int64_t k) {
    return range_.take(k, &a(0, k), std::min(a.rows, a.columns),
                       [&](double greatest, double least) { return !(greatest * rcond_ > least); });
  }

  void put_back(const Matrix<T>& x) {
    T* const column = column_.of(x.rows);
    const int64_t* const places = places_.of(x.rows);
    for (int64_t j = 0; j < x.columns; ++j) {
      for (int64_t i = 0; i < x.rows; ++i) column[places[i]] = x(i, j);
      for (int64_t i = 0; i < x.rows; ++i) x(i, j) = column[i];
    }
  }

  double rcond_;
  TriangleRange<T> range_;
  WideSolver<T> wide_;
  Scratch<T> tau_, column_;
  Scratch<int64_t> places_;
  Scratch<double> norms_;
};

}  // namespace flambeau::cpu::lapack
