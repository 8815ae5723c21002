#include <algorithm>
#include <vector>

#include "cpu/nn/pool_kernel.h"

// The largest element of each window, where nobody asks for its place: first of each column of a
// row of windows, then of the columns of each window. Both run in vectors.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kBlockOfWindows = 512;  // whose results wait in L1 for the next tap
constexpr int64_t kMany = 16;             // columns of a window that are worth vectors

/// A NaN stays, and wins.
template <class T>
FLAMBEAU_INLINE T larger(T value, T candidate) {
  const T number = candidate > value ? candidate : value;
  return candidate != candidate ? candidate : number;
}

/// The largest element of each column under row `i` of the windows: in `line`, or in the volume.
template <class T>
const T* largest_of_columns(const PoolGeometry& geometry, int64_t i, const T* image, T* line) {
  const int64_t width = geometry.input_columns;
  const T* above = nullptr;
  geometry.for_rows_under(i, [&](int64_t y) {
    const T* const row = image + y * width;
    if (above == nullptr) {
      above = row;
      return;
    }
#pragma GCC ivdep
    for (int64_t x = 0; x < width; ++x) line[x] = larger(above[x], row[x]);
    above = line;
  });
  return above;
}

/// `count` windows of `kernel` columns from `values` on. `taps`: `kernel`, where it is known.
template <int64_t fixed, int64_t taps, class T>
FLAMBEAU_INLINE void largest_of_regular(const T* __restrict values, const PoolAxis& columns,
                                        int64_t count, T* __restrict out) {
  const int64_t stride = fixed ? fixed : columns.stride;
  const int64_t kernel = taps ? taps : columns.kernel;
  if constexpr (taps != 0) {
    const int64_t step = columns.step;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      T largest = values[j * stride];
      for (int64_t s = 1; s < kernel; ++s) largest = larger(largest, values[j * stride + s * step]);
      out[j] = largest;
    }
    return;
  }
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) out[j] = values[j * stride];
  for (int64_t s = 1; s < kernel; ++s) {
    values += columns.step;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) out[j] = larger(out[j], values[j * stride]);
  }
}

template <class T>
void largest_inside(const PoolAxis& columns, const T* values, T* out) {
  for (int64_t j = columns.inner_begin; j < columns.inner_end; j += kBlockOfWindows) {
    const T* first = values + columns.begin[static_cast<size_t>(j)];
    const int64_t count = std::min(kBlockOfWindows, columns.inner_end - j);
    with_stride(columns.stride, [&](auto stride) {
      constexpr int64_t fixed = decltype(stride)::value;
      if (columns.kernel == 2)
        largest_of_regular<fixed, 2>(first, columns, count, out + j);
      else if (columns.kernel == 3)
        largest_of_regular<fixed, 3>(first, columns, count, out + j);
      else
        largest_of_regular<fixed, 0>(first, columns, count, out + j);
    });
  }
}

/// Of window `j`, whatever its size.
template <class T>
T largest_of_window(const PoolAxis& columns, size_t j, const T* values) {
  const int64_t begin = columns.begin[j], end = columns.end[j];
  if (begin >= end) return no_element<T>();
  T largest = values[begin];
  if (end - begin < kMany || columns.step != 1) {
    for (int64_t x = begin + columns.step; x < end; x += columns.step)
      largest = larger(largest, values[x]);
    return largest;
  }
  using Flag = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;  // as wide as a number
  Flag nans = 0;
#pragma omp simd reduction(max : largest) reduction(| : nans)
  for (int64_t x = begin; x < end; ++x) {
    largest = values[x] > largest ? values[x] : largest;
    nans |= values[x] != values[x] ? Flag(1) : Flag(0);
  }
  if (nans != 0) return *std::find_if(values + begin, values + end, [](T x) { return x != x; });
  return largest;
}

template <class T>
void largest_of_row(const PoolAxis& columns, int64_t count, const T* values, T* out) {
  const bool is_regular = columns.inner_begin < columns.inner_end;
  const int64_t before = is_regular ? columns.inner_begin : count;
  for (int64_t j = 0; j < before; ++j)
    out[j] = largest_of_window(columns, static_cast<size_t>(j), values);
  if (!is_regular) return;
  largest_inside(columns, values, out);
  for (int64_t j = columns.inner_end; j < count; ++j)
    out[j] = largest_of_window(columns, static_cast<size_t>(j), values);
}

/// Small planes of pairs: a plane's rows are too short for vectors, but neighbours in memory can be
/// compared all over the planes.
template <class T>
void largest_of_pairs(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input,
                      T* result) {
  alignas(64) T values[2 * kBlockOfWindows];
  const int64_t width = geometry.output_columns, last = end * geometry.output_rows;
  const int64_t step = kBlockOfWindows / width;
  for (int64_t row = begin * geometry.output_rows; row < last; row += step) {
    const int64_t rows = std::min(step, last - row);
    const T* const from = input + row * 4 * width;
#pragma omp simd
    for (int64_t k = 0; k < 2 * rows * width; ++k) values[k] = larger(from[2 * k], from[2 * k + 1]);
    for (int64_t i = 0; i < rows; ++i) {
      T* const out = result + (row + i) * width;
      const T* const upper = values + 2 * i * width;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) out[j] = larger(upper[j], upper[width + j]);
    }
  }
}

}  // namespace

template <class T>
void largest_of_windows(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input,
                        T* result) {
  const int64_t count = geometry.output_columns;
  if (count < 32 && covered_by_pairs(geometry))
    return largest_of_pairs(geometry, begin, end, input, result);
  std::vector<T> line(static_cast<size_t>(geometry.input_columns));
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* const image = input + plane * geometry.input_plane();
    for (int64_t i = 0; i < geometry.window_rows(); ++i) {
      T* const out = result + plane * geometry.output_plane() + i * count;
      if (geometry.is_empty_row(i)) {
        std::fill_n(out, count, no_element<T>());
        continue;
      }
      const T* const values = largest_of_columns(geometry, i, image, line.data());
      largest_of_row(geometry.columns, count, values, out);
    }
  }
}
template void largest_of_windows(const PoolGeometry&, int64_t, int64_t, const float*, float*);
template void largest_of_windows(const PoolGeometry&, int64_t, int64_t, const double*, double*);
template void largest_of_windows(const PoolGeometry&, int64_t, int64_t, const int64_t*, int64_t*);

}  // namespace flambeau::cpu::FLAMBEAU_ISA
