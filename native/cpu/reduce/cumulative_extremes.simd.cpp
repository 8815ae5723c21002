#include <algorithm>

#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "kernels/cumulative.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Whether x takes the place of the extreme element so far: the last of equals does, and of NaNs.
template <bool greatest, class C>
bool replaces(C x, C best) {
  const bool is_behind = greatest ? x < best : x > best;
  return !is_behind && (best == best || x != x);
}

/// One row. What has been extreme for long mostly stays so: a branch that is foreseen waits for no
/// comparison.
template <bool greatest, class T>
void scan_row(T* values, int64_t* places, const T* in, int64_t size) {
  T best = in[0];
  int64_t place = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (FLAMBEAU_UNLIKELY(replaces<greatest>(static_cast<Collected<T>>(in[i]),
                                             static_cast<Collected<T>>(best)))) {
      best = in[i];
      place = i;
    }
    values[i] = best;
    places[i] = place;
  }
}

/// Columns [0, count), `step` elements from one row to the next: row by row, as they lie.
template <bool greatest, class T>
void scan_columns(T* values, int64_t* places, const T* in, int64_t size, int64_t step,
                  int64_t count) {
  std::copy_n(in, count, values);
  std::fill_n(places, count, 0);
  for (int64_t i = 1; i < size; ++i) {
    const T* const above = values;
    const int64_t* const place_above = places;
    in += step, values += step, places += step;
#pragma omp simd
    for (int64_t k = 0; k < count; ++k) {
      const bool is_new =
          replaces<greatest>(static_cast<Collected<T>>(in[k]), static_cast<Collected<T>>(above[k]));
      values[k] = is_new ? in[k] : above[k];
      places[k] = is_new ? i : place_above[k];
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
    T* const best = values.data<T>();
    int64_t* const places = indices.data<int64_t>();
    const T* const in = input.data<T>();
    const int64_t step = blocks.inner, size = blocks.size;
    const int64_t grain = std::max<int64_t>(1, 16384 / size);
    parallel_for(0, blocks.outer * step, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t start = begin / step * size * step + begin % step;
        const int64_t count = std::min(end - begin, step - begin % step);
        if (step == 1) {
          scan_row<greatest>(best + start, places + start, in + start, size);
        } else {
          scan_columns<greatest>(best + start, places + start, in + start, size, step, count);
        }
        begin += count;
      }
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

}  // namespace flambeau::cpu::FLAMBEAU_ISA
