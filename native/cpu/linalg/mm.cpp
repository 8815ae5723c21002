#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/linalg/gemm_strategies.h"

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
  const int64_t count = self.sizes()[0], parts = (count + kGemvWork - 1) / kGemvWork;
  visit_numeric(self.dtype(), "dot", [&](auto zero) {
    using T = decltype(zero);
    const auto sum_of = [&](int64_t begin, int64_t end, T* sum) {
      const MatrixView<T> row{self.data<T>(), 1, self.strides()[0]};
      const MatrixView<T> column{tensor.data<T>(), tensor.strides()[0], 1};
      gemm<T>({1, 1, end - begin, row.at(0, begin), column.at(begin, 0), sum, 1});
    };
    // Halves are rounded once.
    if constexpr (!std::is_same_v<T, float16> && !std::is_same_v<T, bfloat16>) {
      if (parts > 1) {
        const Tensor sums = empty(Shape{parts}, self.dtype());
        parallel_for(0, parts, 2, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p)
            sum_of(p * kGemvWork, std::min(count, (p + 1) * kGemvWork), sums.data<T>() + p);
        });
        T total = 0;
        for (int64_t p = 0; p < parts; ++p) total = static_cast<T>(total + sums.data<T>()[p]);
        *result.data<T>() = total;
        return;
      }
    }
    sum_of(0, count, result.data<T>());
  });
}

}  // namespace flambeau::cpu
