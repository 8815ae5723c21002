#include "cpu/linalg/batch.h"

namespace flambeau::cpu {

void bmm(const Tensor& result, const Tensor& self, const Tensor& mat2) {
  visit_numeric(self.dtype(), "bmm", [&](auto zero) {
    using T = decltype(zero);
    multiply_stacks<T>({self.sizes()[0],
                        self.sizes()[1],
                        mat2.sizes()[2],
                        self.sizes()[2],
                        {matrix_of<T>(self), self.strides()[0]},
                        {matrix_of<T>(mat2), mat2.strides()[0]},
                        result.data<T>()});
  });
}

}  // namespace flambeau::cpu
