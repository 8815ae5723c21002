#include "cpu/lapack/pivoted_columns.h"

#include <cmath>

#include "cpu/lapack/real_or_complex.h"

namespace flambeau::cpu::lapack {
namespace {

constexpr double kUnknown = -1;  // a norm of which too few digits are left

/// body(begin, end) for columns of so many rows.
template <class Body>
void over_columns(int64_t rows, int64_t columns, const Body& body) {
  constexpr int64_t kWorth = 60'000;
  parallel_for(0, columns, std::max<int64_t>(4, kWorth / std::max<int64_t>(rows, 1)), body);
}

}  // namespace

template <class T>
PivotedPanels<T>::PivotedPanels(const PivotedColumns<T>& columns)
    : all_(columns),
      shares_(columns.columns, kColumns),
      line_(kColumns, 1),
      sums_(std::max(columns.columns, columns.rows), 1) {
  std::fill_n(all_.norms, all_.columns, kUnknown);
  for (int64_t j = 0; j < all_.columns; ++j) all_.places[j] = j;
  settle();
}

template <class T>
int64_t PivotedPanels<T>::advance() {
  begin_ = done_;
  const int64_t end = std::min({begin_ + kColumns, all_.rows, all_.columns});
  for (bool goes_on = true; goes_on && done_ < end; ++done_) {
    const int64_t k = done_, j = k - begin_;
    exchange_with_greatest(k, j);
    bring_column(k, j);
    T* const vector = all_.a + k * (all_.step + 1);
    all_.tau[k] = small_factors<T>().make_reflection(all_.rows - k, vector);
    const T diagonal = vector[0];
    vector[0] = T(1);
    find_shares(k, j);
    goes_on = take_row(k, j);
    vector[0] = diagonal;
  }
  return done_;
}

template <class T>
void PivotedPanels<T>::exchange_with_greatest(int64_t k, int64_t j) {
  const int64_t greatest = std::max_element(all_.norms + k, all_.norms + all_.columns) - all_.norms;
  if (greatest == k) return;
  T* const column = all_.a + k * all_.step;
  std::swap_ranges(column, column + all_.rows, all_.a + greatest * all_.step);
  std::swap(all_.places[k], all_.places[greatest]);
  all_.norms[greatest] = all_.norms[k];
  all_.exact[greatest] = all_.exact[k];
  const Matrix<T> f = shares(0, j);
  for (int64_t i = 0; i < j; ++i) std::swap(f(k, i), f(greatest, i));
}

/// Column k, from row k on, which j reflections of the panel have changed.
template <class T>
void PivotedPanels<T>::bring_column(int64_t k, int64_t j) {
  if (j == 0) return;
  const Matrix<T> line = part(line_.all(), 0, 0, j, 1);
  copy<T>(constant(transposed(part(shares(0, j), k, 0, 1, j))), line);
  conjugate_where_complex(line);
  const int64_t rows = all_.rows - k;
  multiply(a(k, k, rows, 1), T(-1), constant(a(k, begin_, rows, j)), constant(line), T(1));
}

/// Column j of F, tau (A - V F^H)^H v, of the columns behind k.
template <class T>
void PivotedPanels<T>::find_shares(int64_t k, int64_t j) {
  const int64_t rows = all_.rows - k, count = all_.columns - k - 1;
  const T* const vector = all_.a + k * (all_.step + 1);
  const T tau = all_.tau[k];
  const Matrix<T> f = shares(k + 1, j + 1), line = part(line_.all(), 0, 0, j, 1);
  over_columns(rows, count, [&](int64_t begin, int64_t end) {
    small_factors<T>().inner_products(rows, end - begin, vector + (begin + 1) * all_.step,
                                      all_.step, vector, &f(begin, j));
  });
  small_factors<T>().inner_products(rows, j, all_.a + k + begin_ * all_.step, all_.step, vector,
                                    line.data);
  if (j > 0 && count > 0)
    multiply(part(f, 0, j, count, 1), T(-1), constant(part(f, 0, 0, count, j)), constant(line),
             T(1));
  for (int64_t i = 0; i < count; ++i) f(i, j) = tau * f(i, j);
}

/// Row k of R. Says whether enough digits of all norms are left (Z. Drmac and Z. Bujanovic, On the
/// Failure of Rank-Revealing QR Factorization Software, 2008).
template <class T>
bool PivotedPanels<T>::take_row(int64_t k, int64_t j) {
  static const double least = std::sqrt(std::numeric_limits<Real<T>>::epsilon());
  const int64_t count = all_.columns - k - 1;
  if (count == 0) return true;
  const Matrix<T> line = part(line_.all(), 0, 0, j + 1, 1);
  const Matrix<T> row = a(k, k + 1, 1, count), sums = part(sums_.all(), 0, 0, count, 1);
  copy<T>(constant(transposed(a(k, begin_, 1, j + 1))), line);
  conjugate_where_complex(line);
  multiply(sums, T(1), constant(shares(k + 1, j + 1)), constant(line), T(0));
  conjugate_where_complex(sums);
  bool all_known = true;
  double *const norms = all_.norms + k + 1, *const exact = all_.exact + k + 1;
  for (int64_t i = 0; i < count; ++i) {
    const T element = row(0, i) - sums(i, 0);
    row(0, i) = element;
    if (norms[i] == 0) continue;
    const double left = norms[i] - square_of(element);
    const bool is_known = left > least * exact[i];
    norms[i] = is_known ? left : kUnknown;
    all_known &= is_known;
  }
  return all_known;
}

template <class T>
void PivotedPanels<T>::settle() {
  const int64_t rows = all_.rows - done_, columns = all_.columns - done_, count = done_ - begin_;
  if (rows > 0 && columns > 0 && count > 0) {
    const Matrix<T> f = shares(done_, count);
    conjugate_where_complex(f);
    multiply(a(done_, done_, rows, columns), T(-1), constant(a(done_, begin_, rows, count)),
             constant(transposed(f)), T(1));
  }
  over_columns(rows, columns, [&](int64_t begin, int64_t end) {
    for (int64_t j = done_ + begin; j < done_ + end; ++j) {
      if (all_.norms[j] != kUnknown) continue;
      const double norm = small_factors<T>().norm(rows, all_.a + done_ + j * all_.step);
      all_.norms[j] = all_.exact[j] = norm * norm;
    }
  });
}

template class PivotedPanels<float>;
template class PivotedPanels<double>;
template class PivotedPanels<complex<float>>;
template class PivotedPanels<complex<double>>;

}  // namespace flambeau::cpu::lapack
