#include "cpu/linalg/gemm.h"

namespace flambeau::cpu {

void mm(const Tensor& result, const Tensor& self, const Tensor& mat2) {
  const int64_t m = self.sizes()[0], k = self.sizes()[1], n = mat2.sizes()[1];
  if (FLAMBEAU_LIKELY(self.dtype() == DType::float32)) {
    gemm<float>({m, n, k, matrix_of<float>(self), matrix_of<float>(mat2), result.data<float>(), n});
    return;
  }
  visit_numeric(self.dtype(), "mm", [&](auto zero) {
    using T = decltype(zero);
    gemm<T>({m, n, k, matrix_of<T>(self), matrix_of<T>(mat2), result.data<T>(), n});
  });
}

void mv(const Tensor& result, const Tensor& self, const Tensor& vec) {
  visit_numeric(self.dtype(), "mv", [&](auto zero) {
    using T = decltype(zero);
    const MatrixView<T> column{vec.data<T>(), vec.strides()[0], 1};
    gemm<T>({self.sizes()[0], 1, self.sizes()[1], matrix_of<T>(self), column, result.data<T>(), 1});
  });
}

void dot(const Tensor& result, const Tensor& self, const Tensor& tensor) {
  visit_numeric(self.dtype(), "dot", [&](auto zero) {
    using T = decltype(zero);
    const MatrixView<T> row{self.data<T>(), self.sizes()[0] * self.strides()[0], self.strides()[0]};
    const MatrixView<T> column{tensor.data<T>(), tensor.strides()[0], 1};
    gemm<T>({1, 1, self.sizes()[0], row, column, result.data<T>(), 1});
  });
}

}  // namespace flambeau::cpu
