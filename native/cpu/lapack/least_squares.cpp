#include <cmath>
#include <string_view>

#include "cpu/lapack/real_or_complex.h"
#include "cpu/lapack/rotated.h"
#include "cpu/lapack/two_triangles.h"
#include "kernels/linalg_least_squares.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

enum class Driver { gels, gelsy, gelsd, gelss };

Driver driver_of(std::string_view name) {
  check(name == "gels" || name == "gelsy" || name == "gelsd" || name == "gelss", ErrorKind::value,
        "least_squares(): '", name, "' is no driver of LAPACK");
  return name == "gels"    ? Driver::gels
         : name == "gelsd" ? Driver::gelsd
         : name == "gelss" ? Driver::gelss
                           : Driver::gelsy;
}

/// Solves systems of one size; what LAPACK does not say stays as it is.
template <class T>
class Solver {
 public:
  Solver(Driver driver, int64_t m, int64_t n, int64_t sides, Real<T> rcond)
      : driver_(driver), m_(m), n_(n), sides_(sides), rcond_(rcond) {}
  /// Both matrices are by columns and are destroyed; `b` becomes the solution. Returns the rank.
  int operator()(T* a, T* b, int64_t b_step, Real<T>* values, int& failed) {
    int rank = static_cast<int>(std::min(m_, n_));
    if (size_ == 0) {
      T size{};
      Real<T> real_size{};
      int integer_size = 0;
      call(a, b, b_step, values, &size, -1, &real_size, &integer_size, rank, failed);
      size_ = asked_size(size);
      const int64_t known = driver_ == Driver::gelsy ? 2 * n_ : 5 * std::min(m_, n_);
      real_work_.of(std::max<int64_t>({1, known, static_cast<int64_t>(real_size)}));
      integers_.of(std::max<int64_t>({1, n_, integer_size}));
    }
    std::fill_n(integers_.of(n_), n_, 0);  // columns that gelsy is free to move
    call(a, b, b_step, values, work_.of(size_), size_, real_work_.of(0), integers_.of(0), rank,
         failed);
    return rank;
  }

 private:
  void call(T* a, T* b, int64_t b_step, Real<T>* values, T* work, int64_t size, Real<T>* real_work,
            int* integers, int& rank, int& failed) {
    const int64_t a_step = std::max<int64_t>(m_, 1);
    switch (driver_) {
      case Driver::gels:
        return gels<T>('N', m_, n_, sides_, a, a_step, b, b_step, work, size, &failed);
      case Driver::gelsy:
        if constexpr (kIsComplex<T>) {
          return complex_gelsy<T>(m_, n_, sides_, a, a_step, b, b_step, integers, rcond_, &rank,
                                  work, size, real_work, &failed);
        } else {
          return real_gelsy<T>(m_, n_, sides_, a, a_step, b, b_step, integers, rcond_, &rank, work,
                               size, &failed);
        }
      // Both say what singular values make of it; the second finds them by QR, several times as
      // long.
      case Driver::gelsd:
      case Driver::gelss:
        if constexpr (kIsComplex<T>) {
          return complex_gelsd<T>(m_, n_, sides_, a, a_step, b, b_step, values, rcond_, &rank, work,
                                  size, real_work, integers, &failed);
        } else {
          return real_gelsd<T>(m_, n_, sides_, a, a_step, b, b_step, values, rcond_, &rank, work,
                               size, integers, &failed);
        }
    }
  }

  Driver driver_;
  int64_t m_, n_, sides_, size_ = 0;
  Real<T> rcond_;
  Scratch<T> work_;
  Scratch<Real<T>> real_work_;
  Scratch<int> integers_;
};

/// Whether squares neither overflow nor vanish.
template <class T>
bool is_in_reach(const Matrix<const T>& triangle) {
  constexpr double kReach = sizeof(Real<T>) == 4 ? 1e15 : 1e100;
  double squares = 0;
  for (int64_t j = 0; j < triangle.columns; ++j)
    for (int64_t i = 0; i <= j; ++i) squares += square_of<T>(triangle(i, j));
  const double size = std::sqrt(squares);
  return size == 0 || (size > 1 / kReach && size < kReach);
}

/// Solves by LAPACK: where one side is much longer than the other, the triangle that is left of the
/// matrix, which has the same singular values.
template <class T>
class LapackSolver {
 public:
  LapackSolver(Driver driver, int64_t m, int64_t n, int64_t sides, Real<T> rcond)
      : long_(std::max(m, n)),
        short_(std::min(m, n)),
        is_wide_(m < n),
        has_triangle_((driver == Driver::gelsd || driver == Driver::gelss) && long_ >= 2 * short_),
        whole_(driver, m, n, sides, rcond),
        square_(driver, short_, short_, sides, rcond) {}
  /// `b` has as many rows as the longer side of `a`, and becomes the solution. Returns the rank.
  int operator()(const Matrix<const T>& a, const Matrix<T>& b, Real<T>* values, int& failed) {
    if (!has_triangle_ || b.columns == 0) return solve_whole(a, b, values, failed);
    const Matrix<T> factors{factors_.of(long_ * short_), long_, short_, 1, long_};
    copy<T>(is_wide_ ? transposed(a) : a, factors);
    T* const tau = tau_.of(short_);
    factor_by_reflections(factors, tau);
    if (!is_in_reach(constant(part(factors, 0, 0, short_, short_))))
      return solve_whole(a, b, values, failed);
    const Matrix<T> square{square_memory_.of(short_ * short_), short_, short_, 1, short_};
    const Matrix<T> triangle = is_wide_ ? transposed(square) : square;
    for (int64_t j = 0; j < short_; ++j)
      for (int64_t i = 0; i < short_; ++i) triangle(i, j) = i <= j ? factors(i, j) : T(0);
    if (!is_wide_) apply_reflections(b, constant(factors), tau, short_, true, true);
    const int rank = square_(square.data, b.data, b.column_step, values, failed);
    if (is_wide_) apply_reflections(transposed(b), constant(factors), tau, short_, false, true);
    return rank;
  }

 private:
  int solve_whole(const Matrix<const T>& given, const Matrix<T>& b, Real<T>* values, int& failed) {
    const Matrix<T> a{factors_.of(given.rows * given.columns), given.rows, given.columns, 1,
                      given.rows};
    copy<T>(given, a);
    if (b.columns > 0) return whole_(a.data, b.data, b.column_step, values, failed);
    // Rank and singular values are found all the same, of a side that is 0.
    return whole_(a.data, std::fill_n(zero_.of(long_), long_, T(0)) - long_, long_, values, failed);
  }

  int64_t long_, short_;
  bool is_wide_, has_triangle_;
  Solver<T> whole_, square_;
  Scratch<T> factors_, tau_, square_memory_, zero_;
};

/// LAPACK gives them for matrices of full rank alone. `left` becomes B - A X.
template <class T>
void set_residuals(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& x,
                   const Matrix<T>& left, const Matrix<Real<T>>& to) {
  copy<T>(b, left);
  multiply(left, T(-1), a, constant(x), T(1));
  for (int64_t side = 0; side < b.columns; ++side) {
    double sum = 0;
    for (int64_t i = 0; i < a.rows; ++i) sum += square_of<T>(left(i, side));
    to(side, 0) = static_cast<Real<T>>(sum);
  }
}

/// Solves systems of one size by reflections, which need no exchanges where a matrix is far from
/// one of lower rank, or where the rank does not count.
template <class T>
class ReflectionSolver {
 public:
  ReflectionSolver(int64_t m, int64_t n, Real<T> rcond, Real<T> least, bool rank_counts)
      : long_(std::max(m, n)),
        short_(std::min(m, n)),
        is_wide_(m < n),
        rank_counts_(rank_counts),
        rcond_(std::max(rcond, least)),
        solve_low_rank_(rcond),
        two_triangles_(rcond) {}
  /// `b` has as many rows as the longer side of `a`, and becomes the solution. Returns the rank;
  /// -1: it could be that some singular values count as 0, which is not looked into unless
  /// `of_low_rank`, or numbers are too large or small, and nothing was changed.
  int64_t operator()(const Matrix<const T>& a, const Matrix<T>& b, bool of_low_rank) {
    // Q R, of the transpose where a is wide.
    const Matrix<T> factors{factors_.of(long_ * short_), long_, short_, 1, long_};
    copy<T>(is_wide_ ? transposed(a) : a, factors);
    T* const tau = tau_.of(short_);
    factor_by_reflections(factors, tau);
    const Matrix<const T> triangle = constant(part(factors, 0, 0, short_, short_));
    if (!is_in_reach(triangle)) return -1;
    if (rank_counts_ ? !range_.is_far_from_lower_rank(triangle, static_cast<double>(rcond_))
                     : has_zero_on_diagonal(triangle))
      return of_low_rank ? solve_low_rank(a, factors, tau, b) : -1;
    if (is_wide_) {
      WideSolver<T>::solve(factors, tau, b);
    } else {
      apply_reflections(b, constant(factors), tau, short_, true, true);
      solve_triangle(triangle, part(b, 0, 0, short_, b.columns), true, false);
    }
    return short_;
  }

 private:
  static constexpr int64_t kLeastLarge = 96;  // rows or columns that are worth a second triangle

  static bool has_zero_on_diagonal(const Matrix<const T>& triangle) {
    for (int64_t i = 0; i < triangle.columns; ++i)
      if (triangle(i, i) == T(0)) return true;
    return false;
  }

  /// Columns are exchanged where the rank is not plain without that.
  int64_t solve_low_rank(const Matrix<const T>& a, const Matrix<T>& factors, T* tau,
                         const Matrix<T>& b) {
    const Matrix<T> given{factors.data, is_wide_ ? short_ : long_, is_wide_ ? long_ : short_, 1,
                          is_wide_ ? short_ : long_};
    const Matrix<T> first = part(b, 0, 0, given.rows, b.columns);
    const bool is_large = long_ >= kLeastLarge;
    if (is_wide_) {
      copy<T>(a, given);
      if (is_large) factor_by_reflections(given, tau);
    }
    const int64_t rank =
        is_large ? two_triangles_.prepare(constant(part(given, 0, 0, short_, given.columns))) : -1;
    if (rank >= 0 || !is_wide_) apply_reflections(first, constant(given), tau, short_, true, true);
    if (rank >= 0) {
      two_triangles_.solve(b);
      return rank;
    }
    if (is_wide_) {
      if (is_large) copy<T>(a, given);
      return solve_low_rank_(given, b);
    }
    const Matrix<T> triangle{square_.of(short_ * short_), short_, short_, 1, short_};
    for (int64_t j = 0; j < short_; ++j)
      for (int64_t i = 0; i < short_; ++i) triangle(i, j) = i <= j ? factors(i, j) : T(0);
    return solve_low_rank_(triangle, part(b, 0, 0, short_, b.columns));
  }

  int64_t long_, short_;
  bool is_wide_, rank_counts_;
  Real<T> rcond_;
  LowRankSolver<T> solve_low_rank_;
  TwoTriangles<T> two_triangles_;
  TriangleRange<T> range_;
  Scratch<T> factors_, tau_, square_;
};

/// Solves by the singular values of tiny matrices of one size, which are found side by side.
template <class T>
class TinySolver {
 public:
  TinySolver(int64_t m, int64_t n, Real<T> rcond)
      : m_(m),
        n_(n),
        rank_(std::min(m, n)),
        rcond_(rcond < 0 ? std::numeric_limits<Real<T>>::epsilon() : rcond) {}

  /// Of so many matrices; returns the bits of those of which nothing was found.
  uint32_t find(Rotated<T>& some, T* vectors, const Batch<const T>& given, int64_t first,
                int64_t count) {
    const bool is_wide = m_ < n_;
    some.elements.take(given, first, is_wide, count);
    left_ = is_wide ? vectors : some.elements.data();
    right_ = is_wide ? some.elements.data() : vectors;
    values_ = some.values.data();
    return lane_rotations<T>().singular(std::max(m_, n_), rank_, some.elements.data(),
                                        some.values.data(), vectors);
  }
  /// The solution of the matrix in that lane. Returns its rank.
  int64_t solve(int64_t lane, const Matrix<const T>& b, const Matrix<T>& x,
                const Matrix<Real<T>>& values) const {
    const int64_t lanes = lane_rotations<T>().lanes;
    const auto at = [&](const auto* from, int64_t i, int64_t j) {
      return from[(i * rank_ + j) * lanes + lane];
    };
    const Real<T> least = at(values_, 0, 0) * rcond_;
    int64_t rank = 0;
    for (int64_t j = 0; j < rank_; ++j) {
      values(j, 0) = at(values_, 0, j);
      if (values(j, 0) > least) ++rank;
    }
    T along[kRotated];
    for (int64_t side = 0; side < b.columns; ++side) {
      for (int64_t j = 0; j < rank; ++j) {
        T sum(0);
        for (int64_t i = 0; i < m_; ++i) sum = sum + conjugated(at(left_, i, j)) * b(i, side);
        along[j] = sum / T(values(j, 0));
      }
      for (int64_t i = 0; i < n_; ++i) {
        T sum(0);
        for (int64_t j = 0; j < rank; ++j) sum = sum + conjugated(at(right_, i, j)) * along[j];
        x(i, side) = sum;
      }
    }
    return rank;
  }

 private:
  int64_t m_, n_, rank_;
  Real<T> rcond_;
  const T *left_ = nullptr, *right_ = nullptr;  // singular vectors, the right ones conjugated
  const Real<T>* values_ = nullptr;
};

struct Results {
  const Tensor &solution, &residuals, &rank, &values;
};

template <class T>
void solve_all(const Results& to, const Tensor& A, const Tensor& B, double rcond,
               std::string_view driver) {
  const Batch<const T> matrices(A), sides(B);
  const Batch<T> solutions(to.solution);
  const Batch<Real<T>> residuals(to.residuals, 1), values(to.values, 1);
  const Batch<int64_t> ranks(to.rank, 0);
  const int64_t m = matrices.rows(), n = matrices.columns(), k = sides.columns();
  const auto cutoff = static_cast<Real<T>>(rcond);
  const Driver used = driver_of(driver);
  const bool may_need_no_lapack = (used == Driver::gels || used == Driver::gelsy) && m * n * k > 0;
  const Real<T> least = std::numeric_limits<Real<T>>::epsilon() * static_cast<Real<T>>(m + n);
  over_matrices_by_lapack(
      matrices.count(), 4 * m * n * (std::min(m, n) + k), [&](int64_t begin, int64_t end) {
        LapackSolver<T> solve(used, m, n, std::max<int64_t>(k, 1), cutoff);
        ReflectionSolver<T> solve_by_reflections(m, n, cutoff, least, used == Driver::gelsy);
        Scratch<T> scratch, scratch_solution;
        Scratch<Real<T>> scratch_values;
        const auto residuals_of = [&](int64_t i) {
          const Matrix<T> left{scratch.of(m * k), m, k, 1, std::max<int64_t>(m, 1)};
          set_residuals(matrices[i], sides[i], solutions[i], left, residuals[i]);
        };
        const auto solve_one = [&](int64_t i) {
          const Columns<T> x(solutions[i], scratch_solution, std::max(m, n));
          const Columns<Real<T>> numbers(values[i], scratch_values);
          for (int64_t column = 0; column < k; ++column)
            for (int64_t row = m; row < n; ++row) x(row, column) = T(0);
          x.fill(sides[i]);
          int failed = 0;
          int64_t& rank = *ranks[i].data;
          rank = may_need_no_lapack ? solve_by_reflections(matrices[i], x.part(std::max(m, n), k),
                                                           used == Driver::gelsy)
                                    : -1;
          if (m == 0 || n == 0) {
            rank = 0;
          } else if (rank < 0) {
            rank = solve(matrices[i], x.part(std::max(m, n), k), numbers.data(), failed);
          }
          check(failed == 0, ErrorKind::linalg, "least_squares(): (matrix ", i,
                ") the least squares solution could not be computed: ",
                driver == "gels" ? "the matrix does not have full rank, which driver='gels' needs"
                                 : "the algorithm failed to converge");
          numbers.finish();
          x.finish();
          if (used == Driver::gelsy) {  // whose callers ask for none
            for (int64_t side = 0; side < k; ++side) residuals[i](side, 0) = 0;
            return;
          }
          residuals_of(i);
        };
        const bool by_values = used == Driver::gelsd || used == Driver::gelss;
        TinySolver<T> tiny(m, n, cutoff);
        rotate_each<T>(
            std::max(m, n), by_values && k > 0 ? std::min(m, n) : 0, true, begin, end,
            [&](Rotated<T>& some, int64_t first, int64_t count, T* vectors) {
              const uint32_t failed = tiny.find(some, vectors, matrices, first, count);
              for (int64_t l = 0; l < count; ++l) {
                if (failed >> l & 1) continue;
                const int64_t i = first + l;
                *ranks[i].data = tiny.solve(l, sides[i], solutions[i], values[i]);
                residuals_of(i);
              }
              return failed;
            },
            solve_one);
      });
}

}  // namespace

void least_squares(const Tensor& solution, const Tensor& residuals, const Tensor& rank,
                   const Tensor& singular_values, const Tensor& A, const Tensor& B, double rcond,
                   std::string_view driver) {
  visit_elements_of_lapack(A.dtype(), [&]<class T>() {
    solve_all<T>({solution, residuals, rank, singular_values}, A, B, rcond, driver);
  });
}

}  // namespace flambeau::cpu
