#include <cstring>

#include "core/geometry/shape_rules.h"
#include "cpu/blocks.h"
#include "cpu/walk.h"
#include "kernels/shape.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

void flip(const Tensor& result, const Tensor& self, const Dims& dims) {
  if (result.numel() == 0) return;
  Shape strides = self.strides();
  int64_t offset = 0;
  if (self.dim() > 0) {
    for (const int64_t dim : dims) {
      const size_t d = static_cast<size_t>(dim);
      offset += (self.sizes()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
  }
  const Rows<2> rows(result.sizes(), {IntList(result.strides()), IntList(strides)});
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = result.data<T>();
    const T* const from = self.data<T>() + offset;
    const int64_t length = rows.length(), step = rows.step(1);
    rows.parallel([&](const std::array<int64_t, 2>& at) {
      T* const row = to + at[0];
      const T* const source = from + at[1];
      if (step == 1) {
        memcpy(row, source, static_cast<size_t>(length) * sizeof(T));
      } else if (step == -1) {
#pragma omp simd
        for (int64_t i = 0; i < length; ++i) row[i] = source[-i];
      } else {
        for (int64_t i = 0; i < length; ++i) row[i] = source[i * step];
      }
    });
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
