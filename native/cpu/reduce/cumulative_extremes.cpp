#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "kernels/cumulative.h"

namespace flambeau::cpu {
namespace {

/// Whether x takes the place of the extreme element so far: the last of equals does, and of NaNs.
template <bool greatest, class C>
bool replaces(C x, C best) {
  if (x != x) return true;
  return best == best && (greatest ? x >= best : x <= best);
}

/// The rows [begin, end) of `blocks`, seen from the scanned dim.
template <bool greatest, class T>
void scan_rows(T* values, int64_t* places, const T* in, const DimBlocks& blocks, int64_t begin,
               int64_t end) {
  const int64_t step = blocks.inner;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t start = row / step * blocks.size * step + row % step;
    T best = in[start];
    int64_t place = 0;
    for (int64_t i = 0; i < blocks.size; ++i) {
      const T x = in[start + i * step];
      if (replaces<greatest>(static_cast<Collected<T>>(x), static_cast<Collected<T>>(best))) {
        best = x;
        place = i;
      }
      values[start + i * step] = best;
      places[start + i * step] = place;
    }
  }
}

template <bool greatest>
void scan(const char* op, const Tensor& values, const Tensor& indices, const Tensor& self,
          Dim dim) {
  if (self.numel() == 0) return;
  const Tensor input = contiguous_data(self);
  const DimBlocks blocks(self.sizes(), dim);
  visit_ordered_dtype(self.dtype(), op, [&]<class T>() {
    parallel_for(0, blocks.outer * blocks.inner, std::max<int64_t>(1, 16384 / blocks.size),
                 [&](int64_t begin, int64_t end) {
                   scan_rows<greatest>(values.data<T>(), indices.data<int64_t>(), input.data<T>(),
                                       blocks, begin, end);
                 });
  });
}

}  // namespace

void cummax(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim) {
  scan<true>("cummax", values, indices, self, dim);
}
void cummin(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim) {
  scan<false>("cummin", values, indices, self, dim);
}

}  // namespace flambeau::cpu
