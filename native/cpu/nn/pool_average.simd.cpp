#include <algorithm>
#include <vector>

#include "cpu/nn/pool_kernel.h"
#include "cpu/rows.h"
#include "cpu/short_rows.h"

// Sums of windows, a row of them at a time: every tap is one loop over the row, which runs in
// vectors. Windows that stick out of the image are handled one by one.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kFewWindows = 6, kFewTaps = 8;  // of a row, that vectors are not worth it for

template <class T>
T window_sum(const PoolGeometry& geometry, int64_t i, size_t j, const T* image) {
  const PoolAxis& columns = geometry.columns;
  T sum = 0;
  geometry.for_rows_under(i, [&](int64_t y) {
    const T* row = image + y * geometry.input_columns;
    const int64_t begin = columns.begin[j], end = columns.end[j];
    T row_sum = 0;
    if (end - begin <= kFewTaps) {
      for (int64_t x = begin; x < end; ++x) row_sum += row[x];
    } else {
#pragma omp simd reduction(+ : row_sum)
      for (int64_t x = begin; x < end; ++x) row_sum += row[x];
    }
    sum += row_sum;
  });
  return sum;
}

/// The sums of a row of windows, of which those inside the image lie in regular steps.
template <class T>
void sum_regular_row(const PoolGeometry& geometry, int64_t i, const T* image, T* out) {
  const PoolAxis& columns = geometry.columns;
  const int64_t count = columns.inner_end - columns.inner_begin;
  const bool are_few = count < kFewWindows && columns.kernel <= kFewTaps;
  for (int64_t j = 0; j < (are_few ? geometry.output_columns : columns.inner_begin); ++j)
    out[j] = window_sum(geometry, i, static_cast<size_t>(j), image);
  if (are_few) return;
  if (count > 0) {
    T* inner = out + columns.inner_begin;
    const int64_t first = columns.begin[static_cast<size_t>(columns.inner_begin)];
    std::fill_n(inner, count, T(0));
    with_stride(columns.stride, [&](auto fixed) {
      constexpr int64_t value = decltype(fixed)::value;
      const int64_t stride = value ? value : columns.stride;
      geometry.for_rows_under(i, [&](int64_t y) {
        for (int64_t s = 0; s < columns.kernel; ++s) {
          const T* taps = image + y * geometry.input_columns + first + s;
#pragma omp simd
          for (int64_t j = 0; j < count; ++j) inner[j] += taps[j * stride];
        }
      });
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
void sum_columns_first(const PoolGeometry& geometry, int64_t i, const T* image, T* sums, T* out) {
  const PoolAxis& columns = geometry.columns;
  const int64_t width = geometry.input_columns;
  const T* line = nullptr;
  geometry.for_rows_under(i, [&](int64_t y) {
    const T* const row = image + y * width;
    if (line == nullptr) {
      line = row;
      return;
    }
#pragma GCC ivdep
    for (int64_t x = 0; x < width; ++x) sums[x] = line[x] + row[x];
    line = sums;
  });
  if (line == nullptr) return void(std::fill_n(out, geometry.output_columns, T(0)));
  for (int64_t j = 0; j < geometry.output_columns; ++j) {
    const size_t window = static_cast<size_t>(j);
    out[j] = sum_of_line(line + columns.begin[window], columns.end[window] - columns.begin[window]);
  }
}

/// Whether each window is a run of memory: of whole layers, or of whole rows of one layer.
bool are_runs(const PoolGeometry& geometry) {
  const auto is_whole = [](const PoolAxis& axis, int64_t input, int64_t output) {
    return output == 1 && axis.begin[0] == 0 && axis.end[0] == input;
  };
  return is_whole(geometry.columns, geometry.input_columns, geometry.output_columns) &&
         (geometry.input_layers == 1 ||
          is_whole(geometry.rows, geometry.input_rows, geometry.output_rows));
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
void average_runs(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
                  const T* input, T* result) {
  constexpr int kTogether = 4;
  constexpr int64_t kLong = 1024;  // elements that are added up in two levels
  const int64_t windows = geometry.window_rows(), plane = geometry.input_plane();
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t first = geometry.first_row_under(i) * geometry.input_columns;
    int64_t count = 0;
    geometry.for_rows_under(i, [&](int64_t) { count += geometry.input_columns; });
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

/// The sum of the shares of the windows that cover a row of the image, [z][y] of them.
template <class T>
const T* sum_of_shares(const PoolGeometry& geometry, const Covering& layers, const Covering& rows,
                       int64_t z, int64_t y, const T* shares, T* sums) {
  const int64_t count = geometry.output_columns;
  const T* found = nullptr;
  const size_t layer = static_cast<size_t>(z), row = static_cast<size_t>(y);
  for (int64_t l = layers.first[layer]; l < layers.last[layer]; ++l)
    for (int64_t i = rows.first[row]; i < rows.last[row]; ++i) {
      const T* const more = shares + (l * geometry.output_rows + i) * count;
      if (found == nullptr) {
        found = more;
        continue;
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < count; ++j) sums[j] = found[j] + more[j];
      found = sums;
    }
  return found;
}

}  // namespace

template <class T>
void average_windows(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
                     const T* input, T* result) {
  if (are_runs(geometry)) return average_runs(geometry, begin, end, divisors, input, result);
  const bool is_irregular =
      geometry.columns.inner_begin == geometry.columns.inner_end && geometry.output_columns > 1;
  std::vector<T> sums(is_irregular ? static_cast<size_t>(geometry.input_columns) : 0);
  const int64_t count = geometry.output_columns;
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* image = input + plane * geometry.input_plane();
    T* const out = result + plane * geometry.output_plane();
    for (int64_t i = 0; i < geometry.window_rows(); ++i) {
      if (is_irregular)
        sum_columns_first(geometry, i, image, sums.data(), out + i * count);
      else
        sum_regular_row(geometry, i, image, out + i * count);
    }
#pragma omp simd
    for (int64_t j = 0; j < geometry.output_plane(); ++j) out[j] /= divisors[j];
  }
}

/// Rows of the image under the same windows are alike, and so are layers.
template <class T>
void spread_windows(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
                    const T* grad, T* result) {
  const Covering layers(geometry.layers, geometry.input_layers);
  const Covering rows(geometry.rows, geometry.input_rows);
  const int64_t width = geometry.input_columns, count = geometry.output_columns;
  const int64_t layer = geometry.input_rows * width, windows = geometry.output_plane();
  std::vector<T> shares(static_cast<size_t>(windows)), sums(static_cast<size_t>(count));
  for (int64_t plane = begin; plane < end; ++plane) {
    T* const share = shares.data();
    const T* const g = grad + plane * windows;
#pragma omp simd
    for (int64_t j = 0; j < windows; ++j) share[j] = g[j] / divisors[j];
    T* row = result + plane * geometry.input_plane();
    for (int64_t z = 0; z < geometry.input_layers; ++z) {
      if (layers.repeats(z)) {
        copy_row(row, row - layer, layer);
        row += layer;
        continue;
      }
      for (int64_t y = 0; y < geometry.input_rows; ++y, row += width) {
        if (rows.repeats(y)) {
          copy_row(row, row - width, width);
          continue;
        }
        std::fill_n(row, width, T(0));
        const T* const found = sum_of_shares(geometry, layers, rows, z, y, share, sums.data());
        if (found != nullptr) spread_over_columns(geometry.columns, count, found, row);
      }
    }
  }
}
#define FLAMBEAU_AVERAGE(T)                                                                     \
  template void average_windows(const PoolGeometry&, int64_t, int64_t, const T*, const T*, T*); \
  template void spread_windows(const PoolGeometry&, int64_t, int64_t, const T*, const T*, T*);
FLAMBEAU_AVERAGE(float)
FLAMBEAU_AVERAGE(double)
FLAMBEAU_AVERAGE(int64_t)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
