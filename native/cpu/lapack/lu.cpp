#include "cpu/lapack/matrices.h"
#include "cpu/lapack/small.h"
#include "kernels/linalg_factors.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

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
