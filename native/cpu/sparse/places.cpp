#include <algorithm>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "kernels/sparse_parts.h"

namespace flambeau::cpu {

Tensor sparse_flat(const Tensor& indices, IntList size) {
  checked_numel(size, "sparse_coo_tensor()");
  const Tensor dense = contiguous_data(indices);
  const int64_t rows = indices.size(0), count = indices.size(1);
  const int64_t* const data = dense.data<int64_t>();
  const Tensor result = flambeau::empty(Shape{count}, DType::int64, indices.device());
  fill_data(result, 0);
  int64_t* const out = result.data<int64_t>();
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t extent = size[static_cast<size_t>(row)];
    const int64_t* const own = data + row * count;
    in_blocks(count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        check(own[i] >= 0 && own[i] < extent, ErrorKind::runtime, "sparse_coo: index ", own[i],
              " in row ", row, " of the indices is out of range for ", extent, " places");
        // Without overflow where all are in range; a size of 0 is refused here.
        out[i] =
            static_cast<int64_t>(static_cast<uint64_t>(out[i]) * static_cast<uint64_t>(extent) +
                                 static_cast<uint64_t>(own[i]));
      }
    });
  }
  return result;
}

Tensor sparse_unflat(const Tensor& self, IntList size) {
  const Tensor dense = contiguous_data(self);
  const int64_t count = self.numel(), rows = static_cast<int64_t>(size.size());
  const Tensor rest = flambeau::empty(Shape{count}, DType::int64, self.device());
  copy_data(rest, dense);
  int64_t* const left = rest.data<int64_t>();
  const Tensor result = flambeau::empty(Shape{rows, count}, DType::int64, self.device());
  for (int64_t row = rows; row-- > 0;) {
    const int64_t extent = std::max<int64_t>(size[static_cast<size_t>(row)], 1);
    int64_t* const out = result.data<int64_t>() + row * count;
    parallel_for(0, count, kGrain / 4, [&](int64_t begin, int64_t end) {
      // Neighbours mostly have one quotient, so that few are divided.
      int64_t quotient = 0, first = 0;
      for (int64_t i = begin; i < end; ++i) {
        if (static_cast<uint64_t>(left[i]) - static_cast<uint64_t>(first) >=
            static_cast<uint64_t>(extent)) {
          quotient = left[i] / extent;
          first = quotient * extent;
        }
        out[i] = left[i] - first;
        left[i] = quotient;
      }
    });
  }
  return result;
}

}  // namespace flambeau::cpu
