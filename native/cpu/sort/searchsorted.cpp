#include "cpu/blocks.h"
#include "cpu/sort/keys.h"
#include "kernels/searching.h"

namespace flambeau::cpu {
namespace {

/// The number of keys of a sorted row that stand in front of `key`, with `right` also of those
/// equal to it. Halves without a branch, which would be wrong half of the time.
template <bool right, class T>
int64_t count_in_front(const T* row, int64_t length, KeyOf<T> key) {
  if (length == 0) return 0;
  const auto in_front = [key](T value) {
    return right ? order_key(value) <= key : order_key(value) < key;
  };
  const T* base = row;
  while (length > 1) {
    const int64_t half = length / 2;
    base += in_front(base[half - 1]) ? half : 0;
    length -= half;
  }
  return base - row + in_front(*base);
}

}  // namespace

void insertion_points(const Tensor& result, const Tensor& sorted_sequence, const Tensor& self,
                      bool out_int32, bool right) {
  if (result.numel() == 0) return;
  const Tensor boundaries = contiguous_data(sorted_sequence), values = contiguous_data(self);
  const int64_t length = boundaries.dim() == 0 ? 1 : boundaries.size(-1);
  const bool shared = boundaries.dim() <= 1;
  const int64_t per_row = shared ? values.numel() : values.size(-1);
  visit_ordered_dtype(self.dtype(), "searchsorted", [&]<class T>() {
    const T* const bounds = boundaries.data<T>();
    const T* const data = values.data<T>();
    parallel_for(0, values.numel(), kGrain / 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const row = bounds + (shared ? 0 : i / per_row * length);
        const KeyOf<T> key = order_key(data[i]);
        const int64_t found = right ? count_in_front<true>(row, length, key)
                                    : count_in_front<false>(row, length, key);
        if (out_int32) {
          result.data<int32_t>()[i] = static_cast<int32_t>(found);
        } else {
          result.data<int64_t>()[i] = found;
        }
      }
    });
  });
}

}  // namespace flambeau::cpu
