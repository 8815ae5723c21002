#include <cmath>
#include <string_view>

#include "cpu/lapack/low_rank.h"
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

template <class T>
Real<T> square_of(T x) {
  if constexpr (kIsComplex<T>) {
    return x.re * x.re + x.im * x.im;
  } else {
    return x * x;
  }
}

/// LAPACK gives them for matrices of full rank alone. `left` becomes B - A X.
template <class T>
void set_residuals(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& x,
                   const Matrix<T>& left, const Matrix<Real<T>>& to) {
  copy<T>(b, left);
  multiply(left, T(-1), a, constant(x), T(1));
  for (int64_t side = 0; side < b.columns; ++side) {
    Real<T> sum = 0;
    for (int64_t i = 0; i < a.rows; ++i) sum += square_of<T>(left(i, side));
    to(side, 0) = sum;
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
        solve_low_rank_(rcond) {}
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
    if (rank_counts_ ? !is_far_from_lower_rank(triangle) : has_zero_on_diagonal(triangle))
      return of_low_rank && fits_low_rank() ? solve_low_rank(a, factors, tau, b) : -1;
    if (is_wide_) {
      WideSolver<T>::solve(factors, tau, b);
    } else {
      apply_reflections(b, constant(factors), tau, short_, true, true);
      solve_triangle(triangle, part(b, 0, 0, short_, b.columns), true, false);
    }
    return short_;
  }

 private:
  /// In few bytes: column by column, each is read as often as there are columns.
  bool fits_low_rank() const {
    constexpr int64_t kMostBytes = 2 << 20;
    return long_ * short_ * static_cast<int64_t>(sizeof(T)) <= kMostBytes;
  }
  /// Whether squares neither overflow nor vanish.
  static bool is_in_reach(const Matrix<const T>& triangle) {
    constexpr double kReach = sizeof(Real<T>) == 4 ? 1e15 : 1e100;
    double squares = 0;
    for (int64_t j = 0; j < triangle.columns; ++j)
      for (int64_t i = 0; i <= j; ++i) squares += static_cast<double>(square_of<T>(triangle(i, j)));
    const double size = std::sqrt(squares);
    return size == 0 || (size > 1 / kReach && size < kReach);
  }
  static bool has_zero_on_diagonal(const Matrix<const T>& triangle) {
    for (int64_t i = 0; i < triangle.columns; ++i)
      if (triangle(i, i) == T(0)) return true;
    return false;
  }

  int64_t solve_low_rank(const Matrix<const T>& a, const Matrix<T>& factors, const T* tau,
                         const Matrix<T>& b) {
    if (is_wide_) {
      const Matrix<T> copied{factors.data, short_, long_, 1, short_};
      copy<T>(a, copied);
      return solve_low_rank_(copied, b);
    }
    apply_reflections(b, constant(factors), tau, short_, true, true);
    const Matrix<T> triangle{inverse_.of(short_ * short_), short_, short_, 1, short_};
    for (int64_t j = 0; j < short_; ++j)
      for (int64_t i = 0; i < short_; ++i) triangle(i, j) = i <= j ? factors(i, j) : T(0);
    return solve_low_rank_(triangle, part(b, 0, 0, short_, b.columns));
  }

  /// By estimates of the greatest and the least singular value, as LAPACK decides with those of the
  /// triangle of exchanged columns, which are closer.
  bool is_far_from_lower_rank(const Matrix<const T>& triangle) {
    constexpr double kDoubt = 4;
    const double limit = kDoubt * static_cast<double>(rcond_);
    if (triangle(0, 0) == T(0)) return false;
    greatest_.begin(triangle(0, 0), short_);
    least_.begin(triangle(0, 0), short_);
    for (int64_t k = 1; k < short_; ++k) {
      const T* const above = &triangle(0, k);
      const double least = least_.offer(above, triangle(k, k));
      if (!(greatest_.offer(above, triangle(k, k)) * limit < least)) return false;
      greatest_.accept();
      least_.accept();
    }
    return true;
  }

  int64_t long_, short_;
  bool is_wide_, rank_counts_;
  Real<T> rcond_;
  LowRankSolver<T> solve_low_rank_;
  SingularVector<T, true> greatest_;
  SingularVector<T, false> least_;
  Scratch<T> factors_, tau_, inverse_;
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
        // Without right-hand sides of one that is 0: rank and singular values are found all the
        // same.
        Solver<T> solve(used, m, n, std::max<int64_t>(k, 1), cutoff);
        ReflectionSolver<T> solve_by_reflections(m, n, cutoff, least, used == Driver::gelsy);
        Scratch<T> scratch, scratch_solution, zeros;
        Scratch<Real<T>> scratch_values;
        for (int64_t i = begin; i < end; ++i) {
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
            const Matrix<T> a{scratch.of(m * n), m, n, 1, m};
            copy<T>(matrices[i], a);
            const int64_t length = std::max(m, n);
            T* const b = k > 0 ? x.data() : std::fill_n(zeros.of(length), length, T(0)) - length;
            rank = solve(a.data, b, k > 0 ? x.step() : length, numbers.data(), failed);
          }
          check(failed == 0, ErrorKind::linalg, "least_squares(): (matrix ", i,
                ") the least squares solution could not be computed: ",
                driver == "gels" ? "the matrix does not have full rank, which driver='gels' needs"
                                 : "the algorithm failed to converge");
          numbers.finish();
          x.finish();
          if (used == Driver::gelsy) {  // whose callers ask for none
            for (int64_t side = 0; side < k; ++side) residuals[i](side, 0) = 0;
            continue;
          }
          const Matrix<T> left{scratch.of(m * k), m, k, 1, std::max<int64_t>(m, 1)};
          set_residuals(matrices[i], sides[i], solutions[i], left, residuals[i]);
        }
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
