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

}  // namespace flambeau::cpu
