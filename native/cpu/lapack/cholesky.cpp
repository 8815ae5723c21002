#include "cpu/lapack/matrices.h"
#include "kernels/linalg_factors.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// Zeros on the side of the diagonal that the factor has nothing on.
template <class T>
void clear_other_triangle(const Columns<T>& factor, int64_t n, bool upper) {
  for (int64_t j = 0; j < n; ++j) {
    const int64_t begin = upper ? j + 1 : 0, end = upper ? n : j;
    for (int64_t i = begin; i < end; ++i) factor(i, j) = T(0);
  }
}

template <class T>
void factor_all(const Tensor& L, const Tensor& info, const Tensor& self, bool upper) {
  const Batch<const T> given(self);
  const Batch<T> wanted(L);
  const Batch<int> status(info, 0);
  const int64_t n = given.rows();
  over_matrices_by_lapack(given.count(), n * n * n / 3, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch;
    for (int64_t b = begin; b < end; ++b) {
      const Columns<T> factor(wanted[b], scratch);
      factor.fill(given[b]);
      int* const failed = status[b].data;
      *failed = 0;
      if (n > 0) potrf<T>(upper ? 'U' : 'L', n, factor.data(), factor.step(), failed);
      clear_other_triangle(factor, n, upper);
      factor.finish();
    }
  });
}

}  // namespace

void cholesky_factor(const Tensor& L, const Tensor& info, const Tensor& self, bool upper,
                     bool check_errors) {
  visit_elements_of_lapack(self.dtype(), [&]<class T>() { factor_all<T>(L, info, self, upper); });
  if (!check_errors) return;
  const int64_t failure = first_failure(info);
  if (failure < 0) return;
  fail(ErrorKind::linalg, "cholesky_factor(): ", which(info, failure),
       "the matrix is not positive-definite: its leading minor of order ",
       *Batch<int>(info, 0)[failure].data, " is not");
}

}  // namespace flambeau::cpu
