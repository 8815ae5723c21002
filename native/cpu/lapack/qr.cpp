#include "cpu/lapack/blocks.h"
#include "kernels/linalg_qr.h"

namespace flambeau::cpu {

using namespace lapack;

void geqrf(const Tensor& a, const Tensor& tau, const Tensor& self) {
  visit_elements(self.dtype(), [&]<class T>() {
    const Batch<const T> given(self);
    const Batch<T> reflections(a), factors(tau, 1);
    const int64_t m = given.rows(), n = given.columns(), k = std::min(m, n);
    over_matrices(given.count(), m * n * k * 2, [&](int64_t begin, int64_t end) {
      Scratch<T> scratch, scratch_factors;
      for (int64_t b = begin; b < end; ++b) {
        const Columns<T> matrix(reflections[b], scratch), vector(factors[b], scratch_factors);
        matrix.fill(given[b]);
        factor_by_reflections(matrix.part(m, n), vector.data());
        matrix.finish();
        vector.finish();
      }
    });
  });
}

void reflections_product(const Tensor& result, const Tensor& a, const Tensor& tau) {
  visit_elements(a.dtype(), [&]<class T>() {
    const Batch<const T> given(a), factors(tau, 1);
    const Batch<T> products(result);
    const int64_t m = given.rows(), n = given.columns(), k = factors.rows();
    over_matrices(given.count(), m * n * k * 2, [&](int64_t begin, int64_t end) {
      Scratch<T> scratch;
      for (int64_t b = begin; b < end; ++b) {
        T* const line = scratch.of(k);
        for (int64_t i = 0; i < k; ++i) line[i] = factors[b](i, 0);
        multiply_reflections(products[b], given[b], line, k);
      }
    });
  });
}

}  // namespace flambeau::cpu
