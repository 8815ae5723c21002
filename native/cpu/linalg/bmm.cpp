#include "cpu/linalg/batch.h"

namespace flambeau::cpu {

void bmm(const Tensor& result, const Tensor& self, const Tensor& mat2) {
  const int64_t batch = self.sizes()[0], m = self.sizes()[1], k = self.sizes()[2];
  const int64_t n = mat2.sizes()[2];
  visit_numeric(self.dtype(), "bmm", [&](auto zero) {
    using T = decltype(zero);
    over_batch(batch, m, n, k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        gemm<T>({m, n, k, matrix_of<T>(self, i * self.strides()[0]),
                 matrix_of<T>(mat2, i * mat2.strides()[0]), result.data<T>() + i * m * n, n});
    });
  });
}

}  // namespace flambeau::cpu
