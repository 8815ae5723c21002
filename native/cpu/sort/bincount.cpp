#include <algorithm>

#include "core/base/checked.h"
#include "cpu/blocks.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  const Tensor dense = dense_indices(self);
  const int64_t* const data = dense.data<int64_t>();
  const int64_t numel = dense.numel();
  int64_t length = minlength;
  for (int64_t i = 0; i < numel; ++i) {
    check(data[i] >= 0, ErrorKind::runtime, "bincount(): expected integers from 0, got ", data[i]);
    length = std::max(length, checked_add(data[i], 1, "bincount"));
  }
  if (!weights.defined() || numel == 0) {
    const Tensor result = flambeau::empty(Shape{length}, DType::int64, self.device());
    fill_data(result, 0);
    for (int64_t i = 0; i < numel; ++i) ++result.data<int64_t>()[data[i]];
    return result;
  }
  check(weights.sizes() == self.sizes(), ErrorKind::runtime, "bincount(): weights of shape ",
        weights.sizes(), " for integers of shape ", self.sizes());
  const bool narrow = weights.dtype() == DType::float32;
  const Tensor values = contiguous_data(cast_data(weights, DType::float64));
  const Tensor result = flambeau::empty(Shape{length}, DType::float64, self.device());
  fill_data(result, 0);
  for (int64_t i = 0; i < numel; ++i) {
    result.data<double>()[data[i]] += values.data<double>()[i];
  }
  return narrow ? cast_data(result, DType::float32) : result;
}

}  // namespace flambeau::cpu
