#include "cpu/nn/pool_kernel.h"

#include <limits>
#include <vector>

#include "cpu/row_extrema.h"

// Windows are handled a row of them at a time: every tap is one loop over the row, which runs in
// vectors. Windows that stick out of the image are handled one by one.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kMany = 32;                       // columns of a window that are worth vectors
constexpr int64_t kFewWindows = 6, kFewTaps = 8;    // of a row, that vectors are not worth it for
constexpr int64_t kManyWindows = 32, kNarrow = 16;  // windows of few columns that are
constexpr int64_t kRow = 512;  // windows whose positions wait in L1 to be widened to int64

/// A place as wide as a value, so that vectors hold as many of both.
template <class T>
using NarrowPlace = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

/// Whether 32 bits hold all places of a plane.
bool is_narrow(const PoolGeometry& geometry) {
  return geometry.input_plane() <= std::numeric_limits<int32_t>::max();
}

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
void max_window(const PoolGeometry& geometry, int64_t i, size_t j, const T* image, T* out,
                int64_t* index) {
  const PoolAxis& columns = geometry.columns;
  if (geometry.is_empty_row(i) || columns.is_empty(j)) return no_windows(1, out, index);
  int64_t best = geometry.first_row_under(i) * geometry.input_columns + columns.begin[j];
  T value = image[best];
  geometry.for_rows_under(i, [&](int64_t y) {
    const int64_t row = y * geometry.input_columns;
    for (int64_t x = columns.begin[j]; x < columns.end[j]; x += columns.step) {
      const T candidate = image[row + x];
      const bool better = wins(candidate, value);
      value = better ? candidate : value;
      best = better ? row + x : best;
    }
  });
  *out = value;
  *index = best;
}

/// `count` windows of one row that lie inside the image, from column `first` of it on.
template <int64_t fixed, class T>
void max_row(const PoolGeometry& geometry, int64_t i, int64_t first, int64_t count, const T* image,
             T* out, int64_t* index) {
  const PoolAxis& columns = geometry.columns;
  const int64_t stride = fixed ? fixed : columns.stride;
  alignas(64) int32_t offsets[kRow];  // from the window's first element
  const int64_t top = geometry.first_row_under(i);
  const T* corner = image + top * geometry.input_columns + first;
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    out[j] = corner[j * stride];
    offsets[j] = 0;
  }
  geometry.for_rows_under(i, [&](int64_t y) {
    for (int64_t s = y == top ? 1 : 0; s < columns.kernel; ++s) {
      const int64_t offset = (y - top) * geometry.input_columns + s * columns.step;
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
  });
  const int64_t base = top * geometry.input_columns + first;
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) index[j] = base + j * stride + offsets[j];
}

/// Where the largest of many values stands: the first of equals, the last NaN.
template <class Place, class T, class PlaceOf>
int64_t place_of_largest(const T* values, int64_t begin, int64_t end, const PlaceOf& place_of) {
  const T largest = row_max(values + begin, end - begin);
  Place first = std::numeric_limits<Place>::max();
  if (largest != largest) {
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
  using Place = NarrowPlace<T>;
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

/// The most columns of a window.
int64_t widest(const PoolAxis& columns, int64_t count) {
  int64_t found = 0;
  for (size_t j = 0; j < static_cast<size_t>(count); ++j)
    found = std::max(found, columns.end[j] - columns.begin[j]);
  return found;
}

/// At most kRow windows over a row, from window `first` on, none of more than `width` columns: a
/// tap of all of them at once. A window that has fewer taps sees its last one again.
template <class T>
void max_of_narrow(const PoolAxis& columns, int64_t first, int64_t count, int64_t width,
                   const T* values, int64_t base, T* out, int64_t* index) {
  using Place = NarrowPlace<T>;
  alignas(64) Place begin[kRow], last[kRow], best[kRow];
  alignas(64) T largest[kRow];
  for (int64_t j = 0; j < count; ++j) {
    const size_t window = static_cast<size_t>(first + j);
    begin[j] = best[j] = static_cast<Place>(columns.begin[window]);
    last[j] = static_cast<Place>(columns.end[window] - 1);
    largest[j] = values[begin[j]];
  }
  for (Place s = 1; s < static_cast<Place>(width); ++s) {
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      const Place x = std::min(begin[j] + s, last[j]);
      const T candidate = values[x], value = largest[j];
      const bool better = wins(candidate, value);
      largest[j] = better ? candidate : value;
      best[j] = better ? x : best[j];
    }
  }
  std::copy_n(largest, count, out + first);
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) index[first + j] = base + best[j];
}

/// The first of `lanes` or more elements that equals one of them, in sets of lanes; the last set
/// overlaps the one before.
template <int64_t lanes, class T>
int64_t first_equal(const T* values, int64_t count, T wanted) {
  using Place = NarrowPlace<T>;
  Place lane[lanes];
  for (int64_t j = 0; j < lanes; ++j) lane[j] = std::numeric_limits<Place>::max();
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t begin = std::min(i, count - lanes);
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) {
      const Place at = static_cast<Place>(begin + j);
      lane[j] = (values[begin + j] == wanted) & (at < lane[j]) ? at : lane[j];
    }
  }
  return *std::min_element(lane, lane + lanes);
}

/// Where the largest element of a window over a row stands.
template <class T>
int64_t place_in_row(const T* values, int64_t begin, int64_t end) {
  constexpr int64_t lanes = kFewLanes<T>;
  const int64_t count = end - begin;
  if (count >= lanes && count <= std::numeric_limits<int32_t>::max()) {
    const T largest = row_max(values + begin, count);
    if (largest == largest) return begin + first_equal<lanes>(values + begin, count, largest);
  }
  int64_t best = begin;
  for (int64_t x = begin + 1; x < end; ++x) best = wins(values[x], values[best]) ? x : best;
  return best;
}

/// A row of windows of any size: first the largest element of each column of the image under it,
/// `rows_below` the first one.
template <class T>
void max_columns_first(const PoolGeometry& geometry, int64_t i, const T* image, T* values,
                       int32_t* rows_below, T* out, int64_t* index) {
  const int64_t length = geometry.input_columns, top = geometry.first_row_under(i);
  const int64_t base = top * length, count = geometry.output_columns;
  const T* const first = image + base;
  bool are_several = false;
  geometry.for_rows_under(i, [&](int64_t y) {
    if (y == top) return;
    if (!are_several) {
      are_several = true;
      std::copy_n(first, length, values);
      std::fill_n(rows_below, length, 0);
    }
    const T* const row = image + y * length;
    const int32_t below = static_cast<int32_t>(y - top);
#pragma omp simd
    for (int64_t x = 0; x < length; ++x) {
      const bool better = wins(row[x], values[x]);
      values[x] = better ? row[x] : values[x];
      rows_below[x] = better ? below : rows_below[x];
    }
  });
  if (!are_several) {
    const int64_t width = widest(geometry.columns, count);
    if (count >= kManyWindows && width <= kNarrow && is_narrow(geometry)) {
      for (int64_t j = 0; j < count; j += kRow)
        max_of_narrow(geometry.columns, j, std::min(kRow, count - j), width, first, base, out,
                      index);
      return;
    }
    for (int64_t j = 0; j < count; ++j) {
      const size_t window = static_cast<size_t>(j);
      index[j] =
          base + place_in_row(first, geometry.columns.begin[window], geometry.columns.end[window]);
      out[j] = image[index[j]];
    }
    return;
  }
  const auto place_of = [&](int64_t x) { return rows_below[x] * length + x; };
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
    for (int64_t i = 0; i < geometry.window_rows(); ++i) {
      const int64_t place = plane * geometry.output_plane() + i * geometry.output_columns;
      max_columns_first(geometry, i, input + plane * geometry.input_plane(), values.data(),
                        rows_below.data(), result + place, indices + place);
    }
  }
}

template <class T>
void max_general(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input,
                 T* result, int64_t* indices) {
  const PoolAxis& columns = geometry.columns;
  const bool are_few =
      columns.inner_end - columns.inner_begin < kFewWindows && columns.kernel <= kFewTaps;
  const bool in_vectors = is_narrow(geometry) && !are_few;
  const int64_t inner_begin = in_vectors ? columns.inner_begin : 0;
  const int64_t inner_end = in_vectors ? columns.inner_end : 0;
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* image = input + plane * geometry.input_plane();
    for (int64_t i = 0; i < geometry.window_rows(); ++i) {
      const int64_t place = plane * geometry.output_plane() + i * geometry.output_columns;
      T* out = result + place;
      int64_t* index = indices + place;
      if (geometry.is_empty_row(i)) {
        no_windows(geometry.output_columns, out, index);
        continue;
      }
      for (int64_t j = 0; j < inner_begin; ++j)
        max_window(geometry, i, static_cast<size_t>(j), image, out + j, index + j);
      for (int64_t j = inner_begin; j < inner_end; j += kRow)
        with_stride(columns.stride, [&](auto stride) {
          max_row<decltype(stride)::value>(geometry, i, columns.begin[static_cast<size_t>(j)],
                                           std::min(kRow, inner_end - j), image, out + j,
                                           index + j);
        });
      for (int64_t j = inner_end; j < geometry.output_columns; ++j)
        max_window(geometry, i, static_cast<size_t>(j), image, out + j, index + j);
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

}  // namespace

template <class T>
void largest_and_places(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input,
                        T* result, int64_t* indices) {
  if (geometry.output_columns < 32 && covered_by_pairs(geometry))
    max_pairs(geometry, begin, end, input, result, indices);
  else if (geometry.columns.kernel == 0)
    max_irregular(geometry, begin, end, input, result, indices);
  else
    max_general(geometry, begin, end, input, result, indices);
}
#define FLAMBEAU_LARGEST(T) \
  template void largest_and_places(const PoolGeometry&, int64_t, int64_t, const T*, T*, int64_t*);
FLAMBEAU_LARGEST(float)
FLAMBEAU_LARGEST(double)
FLAMBEAU_LARGEST(int64_t)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
