#include "cpu/lapack/two_triangles.h"

#include <cmath>

#include "cpu/lapack/real_or_complex.h"

namespace flambeau::cpu::lapack {
namespace {

template <class T>
double squares_of(const Matrix<T>& matrix) {
  double sum = 0;
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i) sum += square_of(matrix(i, j));
  return sum;
}

/// Behind which row what is left of an upper triangle nearly vanishes, and the size of that.
template <class T>
std::pair<int64_t, double> last_row_of(const Matrix<const T>& r) {
  const double small = static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
  std::vector<double> left(static_cast<size_t>(r.rows) + 1);
  for (int64_t j = 0; j < r.columns; ++j)
    for (int64_t i = 0; i < std::min(j + 1, r.rows); ++i)
      left[static_cast<size_t>(i)] += square_of(r(i, j));
  for (size_t i = left.size() - 1; i > 0; --i) left[i - 1] += left[i];
  const auto found = std::find_if(left.begin(), left.end(),
                                  [&](double squares) { return squares <= small * left[0]; });
  return {found - left.begin(), std::sqrt(*found)};
}

}  // namespace

template <class T>
int64_t TwoTriangles<T>::prepare(const Matrix<const T>& r) {
  constexpr double kMostCoupling = 0.2;  // of which the square is what a step of `solve` leaves
  constexpr double kDoubt = 4;
  rows_ = r.rows;
  columns_ = r.columns;
  const auto [rank, left] = last_row_of(r);
  if (rank == 0 || rank >= std::min(rows_, columns_)) return -1;
  rank_ = rank;
  turned_ = {turned_memory_.of(columns_ * rank), columns_, rank, 1, columns_};
  copy<T>(transposed(part(r, 0, 0, rank, columns_)), turned_);
  conjugate_where_complex(turned_);
  for (int64_t j = 0; j < rank; ++j) std::fill_n(&turned_(0, j), j, T(0));
  factor_by_reflections(turned_, tau_.of(rank));
  if (!range_.is_far_from_lower_rank(constant(part(turned_, 0, 0, rank, rank)), rcond_)) return -1;
  if (left > kMostCoupling * range_.least()) return -1;
  const int64_t rows = rows_ - rank, columns = columns_ - rank;
  rest_ = {rest_memory_.of(rows * columns), rows, columns, 1, rows};
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) rest_(i, j) = i <= j ? r(rank + i, rank + j) : T(0);
  return kDoubt * size_of_rest() < rcond_ * range_.greatest() ? rank : -1;
}

/// P B where B has rows of zeros beside those of `first`, which are rows from number `from` on.
template <class T>
Matrix<T> TwoTriangles<T>::wide(Scratch<T>& memory, const Matrix<const T>& first, int64_t from) {
  const Matrix<T> b{memory.of(columns_ * first.columns), columns_, first.columns, 1, columns_};
  for (int64_t j = 0; j < b.columns; ++j) {
    std::fill_n(&b(0, j), columns_, T(0));
    std::copy_n(&first(0, j), first.rows, &b(from, j));
  }
  return b;
}

/// The Frobenius norm of D, from its products with vectors of random signs.
template <class T>
double TwoTriangles<T>::size_of_rest() {
  constexpr int64_t kProbes = 8;
  const int64_t columns = rest_.columns;
  const Matrix<T> signs{right_.of(columns * kProbes), columns, kProbes, 1, columns};
  uint64_t state = 0x9E3779B97F4A7C15;
  for (int64_t i = 0; i < columns * kProbes; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    signs.data[i] = T(state >> 63 ? 1 : -1);
  }
  const Matrix<T> probes = wide(lines_, constant(signs), rank_);
  apply_reflections(probes, constant(turned_), tau_.of(rank_), rank_, true, false);
  const Matrix<T> products{right_.of(rest_.rows * kProbes), rest_.rows, kProbes, 1, rest_.rows};
  multiply(products, T(1), constant(rest_), constant(part(probes, rank_, 0, columns, kProbes)),
           T(0));
  return std::sqrt(squares_of(products) / kProbes);
}

/// L y = c_1 + L^-H C^H (c_2 - C y), which is what minimizes both parts of the residual, is a fixed
/// point that is found in a few steps, as C is small.
template <class T>
void TwoTriangles<T>::solve(const Matrix<T>& b) {
  constexpr int kMostSteps = 16;
  constexpr auto small = static_cast<double>(4 * std::numeric_limits<Real<T>>::epsilon());
  const int64_t sides = b.columns, below = rest_.rows;
  const T* const tau = tau_.of(rank_);
  const Matrix<const T> upper = constant(part(turned_, 0, 0, rank_, rank_));
  const Matrix<T> c_1 = part(b, 0, 0, rank_, sides), c_2 = part(b, rank_, 0, below, sides);
  const Matrix<T> y{unknown_.of(rank_ * sides), rank_, sides, 1, rank_};
  const Matrix<T> left{right_.of(below * sides), below, sides, 1, below};
  const auto solve_lower = [&](const Matrix<T>& unknown) {
    conjugate_where_complex(unknown);
    solve_triangle(transposed(upper), unknown, false, false);
    conjugate_where_complex(unknown);
  };
  copy<T>(constant(c_1), y);
  solve_lower(y);
  double before = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kMostSteps; ++step) {
    const Matrix<T> x = wide(lines_, constant(y), 0);
    apply_reflections(x, constant(turned_), tau, rank_, true, false);
    copy<T>(constant(c_2), left);
    const Matrix<T> behind = part(x, rank_, 0, columns_ - rank_, sides);
    multiply(left, T(-1), constant(rest_), constant(behind), T(1));
    conjugate_where_complex(left);
    multiply(behind, T(1), transposed(constant(rest_)), constant(left), T(0));
    conjugate_where_complex(behind);
    const Matrix<T> next = part(x, 0, 0, rank_, sides);
    for (int64_t j = 0; j < sides; ++j) std::fill_n(&next(0, j), rank_, T(0));
    apply_reflections(x, constant(turned_), tau, rank_, true, true);
    solve_triangle(upper, next, true, false);
    for (int64_t j = 0; j < sides; ++j)
      for (int64_t i = 0; i < rank_; ++i) next(i, j) = next(i, j) + c_1(i, j);
    solve_lower(next);
    double change = 0, size = 0;
    for (int64_t j = 0; j < sides; ++j)
      for (int64_t i = 0; i < rank_; ++i) {
        change += square_of(next(i, j) - y(i, j));
        size += square_of(next(i, j));
        y(i, j) = next(i, j);
      }
    // What does not shrink any more is what y is rounded by.
    if (change <= small * small * size || change > before / 4) break;
    before = change;
  }
  const Matrix<T> x = wide(lines_, constant(y), 0);
  apply_reflections(x, constant(turned_), tau, rank_, true, false);
  copy<T>(constant(x), part(b, 0, 0, columns_, sides));
}

template class TwoTriangles<float>;
template class TwoTriangles<double>;
template class TwoTriangles<complex<float>>;
template class TwoTriangles<complex<double>>;

}  // namespace flambeau::cpu::lapack
