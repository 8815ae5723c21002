#include <algorithm>

#include "cpu/blocks.h"
#include "cpu/sort/keys.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {

void searchsorted(const Tensor& result, const Tensor& sorted_sequence, const Tensor& self,
                  bool out_int32, bool right) {
  if (result.numel() == 0) return;
  const Tensor boundaries = contiguous_data(sorted_sequence), values = contiguous_data(self);
  const int64_t length = boundaries.dim() == 0 ? 1 : boundaries.size(-1);
  const bool shared = boundaries.dim() <= 1;
  const int64_t per_row = shared ? values.numel() : values.size(-1);
  visit_ordered_dtype(self.dtype(), "searchsorted", [&]<class T>() {
    const T* const bounds = boundaries.data<T>();
    const T* const data = values.data<T>();
    // Keys order as the values do, NaN last.
    const auto less = [](T a, T b) { return order_key(a) < order_key(b); };
    parallel_for(0, values.numel(), kGrain / 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const row = bounds + (shared ? 0 : i / per_row * length);
        const T* const found = right ? std::upper_bound(row, row + length, data[i], less)
                                     : std::lower_bound(row, row + length, data[i], less);
        if (out_int32) {
          result.data<int32_t>()[i] = static_cast<int32_t>(found - row);
        } else {
          result.data<int64_t>()[i] = found - row;
        }
      }
    });
  });
}

}  // namespace flambeau::cpu
