#include "cpu/lapack/matrices.h"
#include "kernels/linalg_qr.h"

namespace flambeau::cpu {

using namespace lapack;

void geqrf(const Tensor& a, const Tensor& tau, const Tensor& self) {
  visit_elements(self.dtype(), [&]<class T>() {
    const Batch<const T> given(self);
    const Batch<T> reflections(a), factors(tau, 1);
    const int64_t m = given.rows(), n = given.columns(), k = std::min(m, n);
    over_matrices(given.count(), m * n * k * 2, [&](int64_t begin, int64_t end) {
      Scratch<T> scratch, scratch_factors, work;
      for (int64_t b = begin; b < end; ++b) {
        const Columns<T> matrix(reflections[b], scratch), vector(factors[b], scratch_factors);
        matrix.fill(given[b]);
        if (k > 0) {
          int failed = 0;
          T size{};
          lapack::geqrf<T>(m, n, matrix.data(), matrix.step(), vector.data(), &size, -1, &failed);
          const int64_t count = asked_size(size);
          lapack::geqrf<T>(m, n, matrix.data(), matrix.step(), vector.data(), work.of(count), count,
                           &failed);
        }
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
      Scratch<T> scratch, scratch_factors, work;
      for (int64_t b = begin; b < end; ++b) {
        const Columns<T> matrix(products[b], scratch);
        matrix.fill(given[b]);
        T* const line = scratch_factors.of(k);
        for (int64_t i = 0; i < k; ++i) line[i] = factors[b](i, 0);
        if (n > 0) {
          int failed = 0;
          T size{};
          lapack::orgqr<T>(m, n, k, matrix.data(), matrix.step(), line, &size, -1, &failed);
          const int64_t count = asked_size(size);
          lapack::orgqr<T>(m, n, k, matrix.data(), matrix.step(), line, work.of(count), count,
                           &failed);
        }
        matrix.finish();
      }
    });
  });
}

}  // namespace flambeau::cpu
