#include "cpu/lapack/lanes.h"
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

/// The order of the first leading minor with NaN, 0 for none: OpenBLAS takes it for positive.
template <class T>
int first_nan(const Columns<T>& factor, int64_t n) {
  for (int64_t j = 0; j < n; ++j)
    if (!(factor(j, j) == factor(j, j))) return static_cast<int>(j + 1);
  return 0;
}

/// The lower factor of a matrix is found, transposed from and into where the upper one is wanted.
template <class T>
void factor_tiny(const Batch<const T>& given, const Batch<T>& wanted, const Batch<int>& status,
                 bool upper, int64_t begin, int64_t end) {
  const LaneFactors<T>& kernels = lane_factors<T>();
  const int64_t n = given.rows();
  Lanes<T> elements(kernels.lanes, n, n);
  Lanes<int> failed(kernels.lanes, 1, 1);
  for (; begin < end; begin += kernels.lanes) {
    elements.take(given, begin, upper);
    kernels.factor_definite(n, elements.data(), failed.data());
    elements.give(wanted, begin, upper);
    failed.give(status, begin);
  }
}

template <class T>
void factor_all(const Tensor& L, const Tensor& info, const Tensor& self, bool upper) {
  const Batch<const T> given(self);
  const Batch<T> wanted(L);
  const Batch<int> status(info, 0);
  const int64_t n = given.rows();
  over_matrices_by_lapack(given.count(), n * n * n / 3, [&](int64_t begin, int64_t end) {
    const int64_t tiny = begin + count_in_lanes<T>(begin, end, n, n);
    if (begin < tiny) factor_tiny(given, wanted, status, upper, begin, tiny);
    Scratch<T> scratch;
    for (int64_t b = tiny; b < end; ++b) {
      const Columns<T> factor(wanted[b], scratch);
      factor.fill(given[b]);
      int* const failed = status[b].data;
      *failed = 0;
      if (n > 0) potrf<T>(upper ? 'U' : 'L', n, factor.data(), factor.step(), failed);
      if (*failed == 0) *failed = first_nan(factor, n);
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
