#include <algorithm>

#include "cpu/linalg/batch.h"

namespace flambeau::cpu {
namespace {

/// The row that `self` repeats, when that is all it does ([n], [1, n], dense), else null.
template <class T>
const T* repeated_row(const Tensor& self, int64_t n) {
  const size_t rank = self.sizes().size();
  if (rank == 0 || self.numel() != n || self.sizes()[rank - 1] != n) return nullptr;
  return n == 1 || self.strides()[rank - 1] == 1 ? self.data<T>() : nullptr;
}

/// Whether the result lies where `self` does, which is then added to there. Else they do not
/// overlap.
bool is_in_place(const Tensor& result, const Tensor& self) {
  return result.storage() == self.storage() && result.offset() == self.offset();
}

}  // namespace

void addmm(const Tensor& result, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
           const Scalar& beta, const Scalar& alpha) {
  const int64_t m = mat1.sizes()[0], k = mat1.sizes()[1], n = mat2.sizes()[1];
  visit_numeric(mat1.dtype(), "addmm", [&](auto zero) {
    using T = decltype(zero);
    using Factor = GemmFactor<T>;
    const bool is_there = is_in_place(result, self);
    const T* bias = beta.equals(1) && !is_there ? repeated_row<T>(self, n) : nullptr;
    const bool adds = !bias && !beta.equals(0);
    if (adds && !is_there) copy_data(result, self);
    gemm<T>({m, n, k, matrix_of<T>(mat1), matrix_of<T>(mat2), result.data<T>(), n,
             alpha.to<Factor>(), adds ? beta.to<Factor>() : Factor(0), bias});
  });
}

void baddbmm(const Tensor& result, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
             const Scalar& beta, const Scalar& alpha) {
  const int64_t batch = batch1.sizes()[0], m = batch1.sizes()[1], k = batch1.sizes()[2];
  const int64_t n = batch2.sizes()[2];
  const bool adds = !beta.equals(0), is_copied = adds && !is_in_place(result, self);
  // Each matrix just before its product, which then finds it in a cache.
  const bool is_whole = self.is_contiguous() && equal(self.sizes(), result.sizes());
  if (is_copied && !is_whole) copy_data(result, self);
  visit_numeric(batch1.dtype(), "baddbmm", [&](auto zero) {
    using T = decltype(zero);
    using Factor = GemmFactor<T>;
    over_batch(batch, m, n, k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const c = result.data<T>() + i * m * n;
        if (is_copied && is_whole) std::copy_n(self.data<T>() + i * m * n, m * n, c);
        gemm<T>({m, n, k, matrix_of<T>(batch1, i * batch1.strides()[0]),
                 matrix_of<T>(batch2, i * batch2.strides()[0]), c, n, alpha.to<Factor>(),
                 adds ? beta.to<Factor>() : Factor(0)});
      }
    });
  });
}

}  // namespace flambeau::cpu
