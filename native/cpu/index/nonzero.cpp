#include <algorithm>
#include <vector>

#include "cpu/dtype_switch.h"
#include "cpu/index/advanced.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kChunk = 65536;

template <class T>
Tensor positions(const Tensor& tensor) {
  const Tensor dense = contiguous_data(tensor);
  const T* const data = dense.data<T>();
  const int64_t numel = dense.numel(), chunks = (numel + kChunk - 1) / kChunk;
  // Each chunk counts first, so that all of them can write at once.
  std::vector<int64_t> starts(static_cast<size_t>(chunks) + 1, 0);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int64_t count = 0;
      const int64_t stop = std::min(numel, (c + 1) * kChunk);
      for (int64_t i = c * kChunk; i < stop; ++i) count += is_nonzero(data[i]);
      starts[static_cast<size_t>(c) + 1] = count;
    }
  });
  for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  const int64_t rank = tensor.dim();
  const Tensor result = flambeau::empty(Shape{starts.back(), rank}, DType::int64, tensor.device());
  if (rank == 0 || starts.back() == 0) return result;
  const Shape& sizes = tensor.sizes();
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    int64_t* out = result.data<int64_t>() + starts[static_cast<size_t>(begin)] * rank;
    // Others may have changed the elements since they were counted.
    int64_t* const full = result.data<int64_t>() + starts[static_cast<size_t>(end)] * rank;
    const int64_t stop = std::min(numel, end * kChunk);
    for (int64_t i = begin * kChunk; i < stop && out < full; ++i) {
      if (!is_nonzero(data[i])) continue;
      int64_t rest = i;
      for (int64_t d = rank - 1; d > 0; --d) {
        const int64_t size = sizes[static_cast<size_t>(d)];
        out[d] = rest % size;
        rest /= size;
      }
      out[0] = rest;
      out += rank;
    }
    std::fill(out, full, 0);  // for those that are gone
  });
  return result;
}

}  // namespace

Tensor positions_of_nonzero(const Tensor& tensor) {
  return visit_dtype(tensor.dtype(), [&]<class T>() { return positions<T>(tensor); });
}

Tensor argwhere(const Tensor& self) { return positions_of_nonzero(self); }

}  // namespace flambeau::cpu
