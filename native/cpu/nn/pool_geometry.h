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

/// Rows and columns of the windows, and how many planes they are applied to. `input` and `output`
/// are shapes whose last two dims are spatial.
struct PoolGeometry {
  int64_t planes, input_rows, input_columns, output_rows, output_columns;
  PoolAxis rows, columns;
  int64_t input_plane() const { return input_rows * input_columns; }
  int64_t output_plane() const { return output_rows * output_columns; }
};

PoolGeometry pool_geometry(IntList input, IntList output, const Ints<2>& kernel,
                           const std::optional<Ints<2>>& stride, const Ints<2>& padding,
                           const Ints<2>& dilation);
PoolGeometry adaptive_geometry(IntList input, IntList output);
/// Whether 2x2 windows cover the planes exactly.
bool covered_by_pairs(const PoolGeometry& geometry);

/// As with_float_compute, of one input; integers are pooled as int64.
template <class Body>
void with_pooled_type(const char* op, const Tensor& result, const Tensor& input, const Body& body) {
  if (!is_integral(result.dtype())) return with_float_compute(op, result, body, input);
  const bool wide = result.dtype() == DType::int64;
  const Tensor out = wide ? result : empty(result.sizes(), DType::int64);
  body(int64_t(), out, contiguous_data(cast_data(input, DType::int64)));
  if (!wide) copy_data(result, out);
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
