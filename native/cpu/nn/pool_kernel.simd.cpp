#include "cpu/nn/pool_kernel.h"

#include <limits>

#include "cpu/rows.h"
#include "cpu/short_rows.h"

// Windows are handled a row of them at a time: every tap is one loop over the row, which runs in
// vectors. Windows that stick out of the image are handled one by one.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kMany = 32;  // columns of a window that are worth vectors
constexpr int64_t kRow = 512;  // windows whose positions wait in L1 to be widened to int64

/// Whether 32 bits hold all places of a plane.
bool is_narrow(const PoolGeometry& geometry) {
  return geometry.input_plane() <= std::numeric_limits<int32_t>::max();
}

// --- largest elements ---

/// The larger one in the order of scanning: the first of equals, the last NaN.
template <class T>
bool wins(T candidate, T value) {
  return (candidate > value) | (candidate != candidate);
}

/// `count` windows that lie in the padding.
template <class T>
void no_windows(int64_t count, T* out, int64_t* index) {
  std::fill_n(out, count, no_element<T>());
  std::fill_n(index, count, kNoPlace);
}

template <class T>
void max_window(const PoolGeometry& geometry, size_t i, size_t j, const T* image, T* out,
                int64_t* index) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  if (rows.is_empty(i) || columns.is_empty(j)) return no_windows(1, out, index);
  int64_t best = rows.begin[i] * geometry.input_columns + columns.begin[j];
  T value = image[best];
  for (int64_t y = rows.begin[i]; y < rows.end[i]; y += rows.step) {
    const int64_t row = y * geometry.input_columns;
    for (int64_t x = columns.begin[j]; x < columns.end[j]; x += columns.step) {
      const T candidate = image[row + x];
      const bool better = wins(candidate, value);
      value = better ? candidate : value;
      best = better ? row + x : best;
    }
  }
  *out = value;
  *index = best;
}

/// `count` windows of one row that lie inside the image, from column `first` of it on.
template <int64_t fixed, class T>
void max_row(const PoolGeometry& geometry, size_t i, int64_t first, int64_t count, const T* image,
             T* out, int64_t* index) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  const int64_t stride = fixed ? fixed : columns.stride;
  alignas(64) int32_t offsets[kRow];  // from the window's first element
  const T* corner = image + rows.begin[i] * geometry.input_columns + first;
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    out[j] = corner[j * stride];
    offsets[j] = 0;
  }
  for (int64_t y = rows.begin[i]; y < rows.end[i]; y += rows.step)
    for (int64_t s = y == rows.begin[i] ? 1 : 0; s < columns.kernel; ++s) {
      const int64_t offset = (y - rows.begin[i]) * geometry.input_columns + s * columns.step;
      const T* taps = corner + offset;
      const int32_t narrow = static_cast<int32_t>(offset);
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) {
        const T candidate = taps[j * stride], value = out[j];
        const bool better = wins(candidate, value);
        out[j] = better ? candidate : value;
        offsets[j] = better ? narrow : offsets[j];
      }
    }
  const int64_t base = rows.begin[i] * geometry.input_columns + first;
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) index[j] = base + j * stride + offsets[j];
}

/// Where the largest of many values stands: the first of equals, the last NaN. Places are as wide
/// as values, so that vectors hold as many of both.
template <class Place, class T, class PlaceOf>
int64_t place_of_largest(const T* values, int64_t begin, int64_t end, const PlaceOf& place_of) {
  T largest = values[begin];
  Place nans = 0, first = std::numeric_limits<Place>::max();
#pragma omp simd reduction(max : largest) reduction(| : nans)
  for (int64_t x = begin; x < end; ++x) {
    largest = values[x] > largest ? values[x] : largest;
    nans |= values[x] != values[x] ? Place(1) : Place(0);
  }
  if (nans != 0) {
    int64_t last = -1;
    for (int64_t x = begin; x < end; ++x)
      if (values[x] != values[x]) last = std::max<int64_t>(last, place_of(x));
    return last;
  }
#pragma omp simd reduction(min : first)
  for (int64_t x = begin; x < end; ++x) {
    const Place at = static_cast<Place>(place_of(x));
    first = (values[x] == largest) & (at < first) ? at : first;
  }
  return static_cast<int64_t>(first);
}

/// Windows over columns, of which values[x] is the largest element and place_of(x) its place below
/// `base`; `are_narrow`: whether 32 bits hold all places.
template <class T, class PlaceOf>
void max_of_columns(const PoolAxis& columns, int64_t count, const T* values,
                    const PlaceOf& place_of, bool are_narrow, const T* image, int64_t base, T* out,
                    int64_t* index) {
  using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const auto place_of_many = [&](int64_t begin, int64_t end) {
    if (are_narrow) return place_of_largest<Place>(values, begin, end, place_of);
    return place_of_largest<int64_t>(values, begin, end, place_of);
  };
  for (int64_t j = 0; j < count; ++j) {
    const size_t window = static_cast<size_t>(j);
    int64_t x = columns.begin[window], best = place_of(x);
    T value = values[x];
    if (columns.end[window] - x >= kMany) {
      index[j] = base + place_of_many(x, columns.end[window]);
      out[j] = image[index[j]];
      continue;
    }
    for (++x; x < columns.end[window]; ++x) {
      const T candidate = values[x];
      const int64_t place = place_of(x);
      // Rows are scanned before columns: of equals the one above, of NaN the one below.
      const bool beats = wins(candidate, value) & ((value == value) | (place > best));
      const bool better = beats | ((candidate == value) & (place < best));
      value = better ? candidate : value;
      best = better ? place : best;
    }
    out[j] = value;
    index[j] = base + best;
  }
}

/// A row of windows of any size: first the largest element of each column of the image under it,
/// `rows_below` the first one.
template <class T>
void max_columns_first(const PoolGeometry& geometry, size_t i, const T* image, T* values,
                       int32_t* rows_below, T* out, int64_t* index) {
  const int64_t width = geometry.input_columns, top = geometry.rows.begin[i];
  const int64_t base = top * width, count = geometry.output_columns;
  const int32_t height = static_cast<int32_t>(geometry.rows.end[i] - top);
  const T* row = image + base;
  if (height == 1) {
    const auto same = [](int64_t x) { return x; };
    return max_of_columns(geometry.columns, count, row, same, is_narrow(geometry), image, base, out,
                          index);
  }
  std::copy_n(row, width, values);
  std::fill_n(rows_below, width, 0);
  for (int32_t y = 1; y < height; ++y) {
    row += width;
#pragma omp simd
    for (int64_t x = 0; x < width; ++x) {
      const bool better = wins(row[x], values[x]);
      values[x] = better ? row[x] : values[x];
      rows_below[x] = better ? y : rows_below[x];
    }
  }
  const auto place_of = [&](int64_t x) { return rows_below[x] * width + x; };
  max_of_columns(geometry.columns, count, values, place_of, is_narrow(geometry), image, base, out,
                 index);
}

/// Windows that differ in size, as those of adaptive pooling do.
template <class T>
void max_irregular(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input,
                   T* result, int64_t* indices) {
  std::vector<T> values(static_cast<size_t>(geometry.input_columns));
  std::vector<int32_t> rows_below(values.size());
  for (int64_t plane = begin; plane < end; ++plane) {
    for (int64_t i = 0; i < geometry.output_rows; ++i) {
      const int64_t place = plane * geometry.output_plane() + i * geometry.output_columns;
      max_columns_first(geometry, static_cast<size_t>(i), input + plane * geometry.input_plane(),
                        values.data(), rows_below.data(), result + place, indices + place);
    }
  }
}

template <class T>
void max_general(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input,
                 T* result, int64_t* indices) {
  const PoolAxis& columns = geometry.columns;
  const bool narrow = is_narrow(geometry);
  const int64_t inner_begin = narrow ? columns.inner_begin : 0;
  const int64_t inner_end = narrow ? columns.inner_end : 0;
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* image = input + plane * geometry.input_plane();
    for (int64_t i = 0; i < geometry.output_rows; ++i) {
      const int64_t place = plane * geometry.output_plane() + i * geometry.output_columns;
      T* out = result + place;
      int64_t* index = indices + place;
      const size_t row = static_cast<size_t>(i);
      if (geometry.rows.is_empty(row)) {
        no_windows(geometry.output_columns, out, index);
        continue;
      }
      for (int64_t j = 0; j < inner_begin; ++j)
        max_window(geometry, row, static_cast<size_t>(j), image, out + j, index + j);
      for (int64_t j = inner_begin; j < inner_end; j += kRow)
        with_stride(columns.stride, [&](auto stride) {
          max_row<decltype(stride)::value>(geometry, row, columns.begin[static_cast<size_t>(j)],
                                           std::min(kRow, inner_end - j), image, out + j,
                                           index + j);
        });
      for (int64_t j = inner_end; j < geometry.output_columns; ++j)
        max_window(geometry, row, static_cast<size_t>(j), image, out + j, index + j);
    }
  }
}

/// Rows of 2x2 windows: of `left` (larger ones of neighbours) and `right` (which of them), the
/// upper row and then the lower row of each row of windows.
template <int64_t fixed, class T>
void max_halves(int64_t rows, int64_t width, int64_t row, int64_t rows_per_plane, const T* values,
                const int32_t* sides, T* out, int64_t* index) {
  const int64_t n = fixed ? fixed : width;
  for (int64_t i = 0; i < rows; ++i, ++row) {
    if (row == rows_per_plane) row = 0;
    const int64_t base = row * 4 * n;
    const int32_t below = static_cast<int32_t>(2 * n);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const T upper = values[j], lower = values[n + j];
      const bool better = wins(lower, upper);
      out[j] = better ? lower : upper;
      const int32_t column = better ? sides[n + j] + below : sides[j];
      index[j] = base + 2 * j + column;
    }
    values += 2 * n;
    sides += 2 * n;
    out += n;
    index += n;
  }
}

/// Small planes that 2x2 windows cover exactly: a plane's rows are too short for vectors, but
/// neighbours in memory can be compared all over the planes.
template <class T>
void max_pairs(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input, T* result,
               int64_t* indices) {
  alignas(64) T values[2 * kRow];
  alignas(64) int32_t sides[2 * kRow];
  const int64_t width = geometry.output_columns, last = end * geometry.output_rows;
  const int64_t step = kRow / width;
  for (int64_t row = begin * geometry.output_rows; row < last; row += step) {
    const int64_t rows = std::min(step, last - row), count = 2 * rows * width;
    const T* from = input + row * 4 * width;
#pragma omp simd
    for (int64_t k = 0; k < count; ++k) {
      const T left = from[2 * k], right = from[2 * k + 1];
      const bool better = wins(right, left);
      values[k] = better ? right : left;
      sides[k] = better ? 1 : 0;
    }
    const auto run = [&](auto fixed) {
      max_halves<decltype(fixed)::value>(rows, width, row % geometry.output_rows,
                                         geometry.output_rows, values, sides, result + row * width,
                                         indices + row * width);
    };
    if (width == 4)
      run(std::integral_constant<int64_t, 4>());
    else if (width == 8)
      run(std::integral_constant<int64_t, 8>());
    else
      run(std::integral_constant<int64_t, 0>());
  }
}

template <class T>
void max(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input, T* result,
         int64_t* indices) {
  if (geometry.output_columns < 32 && covered_by_pairs(geometry))
    max_pairs(geometry, begin, end, input, result, indices);
  else if (geometry.columns.kernel == 0)
    max_irregular(geometry, begin, end, input, result, indices);
  else
    max_general(geometry, begin, end, input, result, indices);
}

// --- averages ---

template <class T>
T window_sum(const PoolGeometry& geometry, size_t i, size_t j, const T* image) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  T sum = 0;
  for (int64_t y = rows.begin[i]; y < rows.end[i]; ++y) {
    const T* row = image + y * geometry.input_columns;
    T row_sum = 0;
#pragma omp simd reduction(+ : row_sum)
    for (int64_t x = columns.begin[j]; x < columns.end[j]; ++x) row_sum += row[x];
    sum += row_sum;
  }
  return sum;
}

/// The sums of a row of windows, of which those inside the image lie in regular steps.
template <class T>
void sum_regular_row(const PoolGeometry& geometry, size_t i, const T* image, T* out) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  for (int64_t j = 0; j < columns.inner_begin; ++j)
    out[j] = window_sum(geometry, i, static_cast<size_t>(j), image);
  const int64_t count = columns.inner_end - columns.inner_begin;
  if (count > 0) {
    T* inner = out + columns.inner_begin;
    const int64_t first = columns.begin[static_cast<size_t>(columns.inner_begin)];
    std::fill_n(inner, count, T(0));
    with_stride(columns.stride, [&](auto fixed) {
      constexpr int64_t value = decltype(fixed)::value;
      const int64_t stride = value ? value : columns.stride;
      for (int64_t y = rows.begin[i]; y < rows.end[i]; ++y)
        for (int64_t s = 0; s < columns.kernel; ++s) {
          const T* taps = image + y * geometry.input_columns + first + s;
#pragma omp simd
          for (int64_t j = 0; j < count; ++j) inner[j] += taps[j * stride];
        }
    });
  }
  for (int64_t j = columns.inner_end; j < geometry.output_columns; ++j)
    out[j] = window_sum(geometry, i, static_cast<size_t>(j), image);
}

/// Short sums are not worth the additions of lanes.
template <class T>
T sum_of_line(const T* from, int64_t count) {
  constexpr int64_t kShort = 24;
  T sum = 0;
  if (count < kShort) {
    for (int64_t i = 0; i < count; ++i) sum += from[i];
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += from[i];
  return sum;
}

/// The sums of a row of windows of any size: first the rows of the image under it, if they are
/// several, are added up.
template <class T>
void sum_columns_first(const PoolGeometry& geometry, size_t i, const T* image, T* sums, T* out) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  const int64_t width = geometry.input_columns;
  const T* line = image + rows.begin[i] * width;
  if (rows.end[i] - rows.begin[i] != 1) {
    std::fill_n(sums, width, T(0));
    for (int64_t y = rows.begin[i]; y < rows.end[i]; ++y) {
      const T* row = image + y * width;
#pragma omp simd
      for (int64_t x = 0; x < width; ++x) sums[x] += row[x];
    }
    line = sums;
  }
  for (int64_t j = 0; j < geometry.output_columns; ++j) {
    const size_t window = static_cast<size_t>(j);
    out[j] = sum_of_line(line + columns.begin[window], columns.end[window] - columns.begin[window]);
  }
}

/// Whether each window is a run of whole rows.
bool takes_whole_rows(const PoolGeometry& geometry) {
  const PoolAxis& columns = geometry.columns;
  return geometry.output_columns == 1 && columns.begin[0] == 0 &&
         columns.end[0] == geometry.input_columns;
}

/// Sums of runs of `count` elements, `pitch` apart: of several at once, as each ends with additions
/// that wait for one another.
template <int runs, class T>
void sum_of_runs(const T* from, int64_t pitch, int64_t count, int64_t out_pitch, T* out) {
  constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));
  T lane[runs][kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int r = 0; r < runs; ++r) {
#pragma omp simd
      for (int64_t j = 0; j < kLanes; ++j) lane[r][j] += from[r * pitch + i + j];
    }
  for (; i < count; ++i)
    for (int r = 0; r < runs; ++r) lane[r][i % kLanes] += from[r * pitch + i];
  for (int r = 0; r < runs; ++r) {
    add_halves<kLanes / 2>(lane[r]);
    out[r * out_pitch] = lane[r][0];
  }
}

template <class T>
void average_rows(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
                  const T* input, T* result) {
  constexpr int kTogether = 4;
  constexpr int64_t kLong = 1024;  // elements that are added up in two levels
  const int64_t windows = geometry.output_rows, plane = geometry.input_plane();
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t first = geometry.rows.begin[static_cast<size_t>(i)] * geometry.input_columns;
    const int64_t last = geometry.rows.end[static_cast<size_t>(i)] * geometry.input_columns;
    const int64_t count = std::max<int64_t>(0, last - first);
    int64_t p = begin;
    for (; count >= kLong && p < end; ++p)
      result[p * windows + i] =
          sum_terms<T>(count, [from = input + p * plane + first](int64_t k) { return from[k]; });
    for (; p + kTogether <= end; p += kTogether)
      sum_of_runs<kTogether>(input + p * plane + first, plane, count, windows,
                             result + p * windows + i);
    for (; p < end; ++p)
      sum_of_runs<1>(input + p * plane + first, plane, count, windows, result + p * windows + i);
    for (p = begin; p < end; ++p) result[p * windows + i] /= divisors[i];
  }
}

template <class T>
void average(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
             const T* input, T* result) {
  if (takes_whole_rows(geometry))
    return average_rows(geometry, begin, end, divisors, input, result);
  const bool is_irregular =
      geometry.columns.inner_begin == geometry.columns.inner_end && geometry.output_columns > 1;
  std::vector<T> sums(is_irregular ? static_cast<size_t>(geometry.input_columns) : 0);
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* image = input + plane * geometry.input_plane();
    for (int64_t i = 0; i < geometry.output_rows; ++i) {
      T* out = result + plane * geometry.output_plane() + i * geometry.output_columns;
      const size_t row = static_cast<size_t>(i);
      if (is_irregular) {
        sum_columns_first(geometry, row, image, sums.data(), out);
      } else {
        sum_regular_row(geometry, row, image, out);
      }
      const T* divisor = divisors + i * geometry.output_columns;
#pragma omp simd
      for (int64_t j = 0; j < geometry.output_columns; ++j) out[j] /= divisor[j];
    }
  }
}

/// Adds the share of every window of a row to the columns under it.
template <class T>
void spread_over_columns(const PoolAxis& columns, int64_t count, const T* shares, T* line) {
  const auto one = [&](int64_t j) {
    const size_t window = static_cast<size_t>(j);
    const T share = shares[j];
#pragma omp simd
    for (int64_t x = columns.begin[window]; x < columns.end[window]; ++x) line[x] += share;
  };
  for (int64_t j = 0; j < columns.inner_begin; ++j) one(j);
  const int64_t inside = columns.inner_end - columns.inner_begin;
  if (inside > 0) {
    const int64_t first = columns.begin[static_cast<size_t>(columns.inner_begin)];
    const T* inner = shares + columns.inner_begin;
    with_stride(columns.stride, [&](auto fixed) {
      constexpr int64_t value = decltype(fixed)::value;
      const int64_t stride = value ? value : columns.stride;
      for (int64_t s = 0; s < columns.kernel; ++s) {
        T* taps = line + first + s;
#pragma omp simd
        for (int64_t j = 0; j < inside; ++j) taps[j * stride] += inner[j];
      }
    });
  }
  for (int64_t j = columns.inner_end; j < count; ++j) one(j);
}

/// A row of windows makes one line, which goes to all rows of the image under it.
template <class T>
void spread(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
            const T* grad, T* result) {
  const PoolAxis& rows = geometry.rows;
  const int64_t width = geometry.input_columns, count = geometry.output_columns;
  std::vector<T> shares(static_cast<size_t>(count)), line(static_cast<size_t>(width));
  for (int64_t plane = begin; plane < end; ++plane) {
    T* image = result + plane * geometry.input_plane();
    int64_t written = 0;  // rows of the image
    for (int64_t i = 0; i < geometry.output_rows; ++i) {
      const size_t window = static_cast<size_t>(i);
      if (rows.is_empty(window)) continue;
      const T* g = grad + plane * geometry.output_plane() + i * count;
      const T* divisor = divisors + i * count;
      T *share = shares.data(), *sums = line.data();
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) share[j] = g[j] / divisor[j];
      std::fill_n(sums, width, T(0));
      spread_over_columns(geometry.columns, count, share, sums);
      const int64_t first = rows.begin[window], last = rows.end[window];
      for (; written < first; ++written) std::fill_n(image + written * width, width, T(0));
      for (int64_t y = first; y < std::min(written, last); ++y) {
        T* row = image + y * width;
#pragma omp simd
        for (int64_t x = 0; x < width; ++x) row[x] += sums[x];
      }
      for (; written < last; ++written) copy_row(image + written * width, sums, width);
    }
    for (; written < geometry.input_rows; ++written)
      std::fill_n(image + written * width, width, T(0));
  }
}

}  // namespace

template <class T>
const PoolKernels<T>& pool_kernels() {
  static constexpr PoolKernels<T> kernels{&max<T>, &average<T>, &spread<T>};
  return kernels;
}
template const PoolKernels<float>& pool_kernels();
template const PoolKernels<double>& pool_kernels();
template const PoolKernels<int64_t>& pool_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
