#include <cmath>
#include <numeric>

#include "cpu/lapack/matrices.h"
#include "kernels/linalg_factors.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// Matrices of up to so many rows and columns are done before LAPACK has begun.
constexpr int64_t kSmall = 16;

/// What LAPACK chooses pivots by.
template <class T>
Real<T> size_of(T value) {
  if constexpr (kIsComplex<T>) {
    return std::abs(value.re) + std::abs(value.im);
  } else {
    return std::abs(value);
  }
}

/// What getrf does, column by column. Returns the number of the first pivot that is 0, from 1.
template <class T>
int factor_small(int64_t m, int64_t n, T* a, int64_t step, int* swaps) {
  int failed = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    T* const column = a + k * step;
    int64_t pivot = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (size_of(column[i]) > size_of(column[pivot])) pivot = i;
    swaps[k] = static_cast<int>(pivot + 1);
    if (column[pivot] == T(0)) {
      if (failed == 0) failed = static_cast<int>(k + 1);
      continue;
    }
    if (pivot != k)
      for (int64_t j = 0; j < n; ++j) std::swap(a[k + j * step], a[pivot + j * step]);
    for (int64_t i = k + 1; i < m; ++i) column[i] = column[i] / column[k];
    for (int64_t j = k + 1; j < n; ++j) {
      T* const other = a + j * step;
      const T factor = other[k];
      for (int64_t i = k + 1; i < m; ++i) other[i] = other[i] - column[i] * factor;
    }
  }
  return failed;
}

template <class T>
void factor_all(const Tensor& LU, const Tensor& pivots, const Tensor& info, const Tensor& A) {
  const Batch<const T> given(A);
  const Batch<T> wanted(LU);
  const Batch<int> swaps(pivots, 1), status(info, 0);
  const int64_t m = given.rows(), n = given.columns(), k = std::min(m, n);
  over_matrices(given.count(), m * n * k, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch;
    for (int64_t b = begin; b < end; ++b) {
      const Columns<T> factors(wanted[b], scratch);
      factors.fill(given[b]);
      int* const failed = status[b].data;
      *failed = 0;
      if (std::max(m, n) <= kSmall) {
        *failed = factor_small<T>(m, n, factors.data(), factors.step(), swaps[b].data);
      } else if (k > 0) {
        getrf<T>(m, n, factors.data(), factors.step(), swaps[b].data, failed);
      }
      factors.finish();
    }
  });
}

}  // namespace

void lu_factors(const Tensor& LU, const Tensor& pivots, const Tensor& info, const Tensor& A,
                bool check_errors) {
  visit_elements(A.dtype(), [&]<class T>() { factor_all<T>(LU, pivots, info, A); });
  if (!check_errors) return;
  const int64_t failure = first_failure(info);
  if (failure < 0) return;
  fail(ErrorKind::linalg, "lu_factors(): ", which(info, failure),
       "the matrix is singular: element ", *Batch<int>(info, 0)[failure].data,
       " of the diagonal of U is zero");
}

void pivots_to_permutation(const Tensor& result, const Tensor& pivots, int64_t) {
  const Batch<const int> swaps(pivots, 1);
  const Batch<int64_t> rows(result, 1);
  over_matrices(swaps.count(), rows.rows(), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Matrix<int64_t> order = rows[b];
      for (int64_t i = 0; i < order.rows; ++i) order(i, 0) = i;
      const Matrix<const int> swap = swaps[b];
      for (int64_t i = 0; i < swap.rows; ++i) {
        const int64_t other = swap(i, 0) - 1;
        check(other >= 0 && other < order.rows, ErrorKind::runtime,
              "pivots_to_permutation(): pivots must lie between 1 and ", order.rows, ", got ",
              other + 1);
        std::swap(order(i, 0), order(other, 0));
      }
    }
  });
}

}  // namespace flambeau::cpu
