#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"
#include "cpu/nn/conv_types.h"

namespace flambeau::cpu {

/// The windows of one spatial dim: window i covers begin[i], begin[i] + step, ... < end[i], inside
/// the image. `full` counts the padding in, as far as the padded image reaches. A dilated window
/// may lie in the padding as a whole: then begin[i] >= end[i], and begin[i] may be past the image.
struct PoolAxis {
  std::vector<int64_t> begin, end, full;
  int64_t step = 1;
  /// Windows [inner_begin, inner_end) lie inside the image as a whole: `kernel` taps each, `stride`
  /// after one another. No such windows are named for axes whose windows differ in size.
  int64_t kernel = 0, stride = 0, inner_begin = 0, inner_end = 0;
  bool is_empty(size_t window) const { return begin[window] >= end[window]; }
};

PoolAxis pool_axis(int64_t input, int64_t output, int64_t kernel, int64_t stride, int64_t padding,
                   int64_t dilation);
/// Windows of (nearly) equal size that cover the image.
PoolAxis adaptive_axis(int64_t input, int64_t output);

/// Layers, rows and columns of the windows, and how many volumes they are applied to; a plane is a
/// volume of one layer. `rank`: how many of the last dims of the shapes are spatial, 2 or 3.
struct PoolGeometry {
  int64_t planes, input_layers, input_rows, input_columns;
  int64_t output_layers, output_rows, output_columns;
  PoolAxis layers, rows, columns;
  int64_t input_plane() const { return input_layers * input_rows * input_columns; }
  int64_t output_plane() const { return output_layers * output_rows * output_columns; }
  /// Of the rows of windows of a volume: which layer of windows it lies in, and which row of that.
  size_t layer_of(int64_t row) const { return static_cast<size_t>(row / output_rows); }
  size_t row_of(int64_t row) const { return static_cast<size_t>(row % output_rows); }
  int64_t window_rows() const { return output_layers * output_rows; }
  /// Whether a row of windows lies in the padding as a whole.
  bool is_empty_row(int64_t row) const {
    return layers.is_empty(layer_of(row)) || rows.is_empty(row_of(row));
  }
  /// Calls body(y) for each row of the volume, counted through its layers, under a row of windows.
  template <class Body>
  void for_rows_under(int64_t row, const Body& body) const {
    const size_t layer = layer_of(row), line = row_of(row);
    for (int64_t z = layers.begin[layer]; z < layers.end[layer]; z += layers.step)
      for (int64_t y = rows.begin[line]; y < rows.end[line]; y += rows.step)
        body(z * input_rows + y);
  }
  int64_t first_row_under(int64_t row) const {
    return layers.begin[layer_of(row)] * input_rows + rows.begin[row_of(row)];
  }
};

PoolGeometry pool_geometry(IntList input, IntList output, IntList kernel,
                           const std::optional<IntList>& stride, IntList padding, IntList dilation);
PoolGeometry adaptive_geometry(IntList input, IntList output, size_t rank);

/// Of each place along a dim the windows that cover it, [first, last): of windows without steps.
struct Covering {
  std::vector<int64_t> first, last;
  Covering(const PoolAxis& axis, int64_t places);
  int64_t count(int64_t place) const {
    return last[static_cast<size_t>(place)] - first[static_cast<size_t>(place)];
  }
  /// Whether a place is covered by the windows that the one before it is covered by.
  bool repeats(int64_t place) const {
    const size_t at = static_cast<size_t>(place);
    return place > 0 && first[at] == first[at - 1] && last[at] == last[at - 1];
  }
};

/// Whether 2x2 windows cover the planes exactly.
bool covered_by_pairs(const PoolGeometry& geometry);

/// fill(out), where `out` is `result` or, unless it is row-major, what it becomes a copy of.
template <class Fill>
void through_rows(const Tensor& result, const Fill& fill) {
  if (!result.defined() || result.is_contiguous()) return fill(result);
  const Tensor out = empty(result.sizes(), result.dtype());
  fill(out);
  copy_data(result, out);
}

/// As with_float_compute, of one input; integers are pooled as int64.
template <class Body>
void with_pooled_type(const char* op, const Tensor& result, const Tensor& input, const Body& body) {
  through_rows(result, [&](const Tensor& rows) {
    if (!is_integral(rows.dtype())) return with_float_compute(op, rows, body, input);
    const bool wide = rows.dtype() == DType::int64;
    const Tensor out = wide ? rows : empty(rows.sizes(), DType::int64);
    body(int64_t(), out, contiguous_data(cast_data(input, DType::int64)));
    if (!wide) copy_data(rows, out);
  });
}

/// Calls body(begin, end) on ranges of planes, on several threads when there is enough to do.
/// `cost`: of an element.
template <class Body>
void over_planes(const PoolGeometry& geometry, const Body& body, int64_t cost = 1) {
  const int64_t work = (geometry.input_plane() + geometry.output_plane()) * cost;
  parallel_for(0, geometry.planes, std::max<int64_t>(1, kGrain / 2 / std::max<int64_t>(work, 1)),
               body);
}

}  // namespace flambeau::cpu
