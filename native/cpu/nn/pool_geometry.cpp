#include "cpu/nn/pool_geometry.h"

namespace flambeau::cpu {

PoolAxis pool_axis(int64_t input, int64_t output, int64_t kernel, int64_t stride, int64_t padding,
                   int64_t dilation) {
  PoolAxis axis;
  axis.step = kernel == 1 ? 1 : dilation;  // no distance to add where one tap is all
  axis.kernel = kernel;
  axis.stride = stride;
  for (int64_t i = 0; i < output; ++i) {
    const int64_t first = i * stride - padding;
    const int64_t last = first + dilation * (kernel - 1) + 1;
    // A window that starts in the padding starts at its first tap inside.
    const int64_t begin =
        first >= 0 ? first : first + (-first + dilation - 1) / dilation * dilation;
    axis.begin.push_back(begin);
    axis.end.push_back(std::min(last, input));
    axis.full.push_back(std::min(last, input + padding) - first);
    if (last > input) continue;
    if (first < 0) axis.inner_begin = i + 1;
    axis.inner_end = i + 1;
  }
  axis.inner_end = std::max(axis.inner_begin, axis.inner_end);
  return axis;
}

PoolAxis adaptive_axis(int64_t input, int64_t output) {
  PoolAxis axis;
  for (int64_t i = 0; i < output; ++i) {
    axis.begin.push_back(i * input / output);
    axis.end.push_back(((i + 1) * input + output - 1) / output);
    axis.full.push_back(axis.end.back() - axis.begin.back());
  }
  return axis;
}

namespace {

PoolGeometry base_geometry(IntList input, IntList output, size_t spatial) {
  const size_t rank = input.size();
  const bool is_deep = spatial == 3;
  PoolGeometry geometry{1,
                        is_deep ? input[rank - 3] : 1,
                        input[rank - 2],
                        input[rank - 1],
                        is_deep ? output[rank - 3] : 1,
                        output[rank - 2],
                        output[rank - 1],
                        {},
                        {},
                        {}};
  for (const int64_t size : input.first(rank - spatial)) geometry.planes *= size;
  return geometry;
}

}  // namespace

PoolGeometry pool_geometry(IntList input, IntList output, IntList kernel,
                           const std::optional<IntList>& stride, IntList padding,
                           IntList dilation) {
  const IntList steps = stride ? *stride : kernel;
  PoolGeometry geometry = base_geometry(input, output, kernel.size());
  const size_t r = kernel.size() - 2, c = kernel.size() - 1;
  geometry.layers = r == 0 ? pool_axis(1, 1, 1, 1, 0, 1)
                           : pool_axis(geometry.input_layers, geometry.output_layers, kernel[0],
                                       steps[0], padding[0], dilation[0]);
  geometry.rows = pool_axis(geometry.input_rows, geometry.output_rows, kernel[r], steps[r],
                            padding[r], dilation[r]);
  geometry.columns = pool_axis(geometry.input_columns, geometry.output_columns, kernel[c], steps[c],
                               padding[c], dilation[c]);
  return geometry;
}

PoolGeometry adaptive_geometry(IntList input, IntList output, size_t rank) {
  PoolGeometry geometry = base_geometry(input, output, rank);
  geometry.layers = adaptive_axis(geometry.input_layers, geometry.output_layers);
  geometry.rows = adaptive_axis(geometry.input_rows, geometry.output_rows);
  geometry.columns = adaptive_axis(geometry.input_columns, geometry.output_columns);
  return geometry;
}

Covering::Covering(const PoolAxis& axis, int64_t places)
    : first(static_cast<size_t>(places), 0), last(static_cast<size_t>(places), 0) {
  const int64_t windows = static_cast<int64_t>(axis.begin.size());
  int64_t begin = 0, end = 0;  // windows before `begin` end before the place
  for (int64_t place = 0; place < places; ++place) {
    while (begin < windows && axis.end[static_cast<size_t>(begin)] <= place) ++begin;
    end = std::max(end, begin);
    while (end < windows && axis.begin[static_cast<size_t>(end)] <= place) ++end;
    first[static_cast<size_t>(place)] = begin;
    last[static_cast<size_t>(place)] = end;
  }
}

bool covered_by_pairs(const PoolGeometry& geometry) {
  const auto exact = [](const PoolAxis& axis, int64_t input, int64_t output) {
    return axis.kernel == 2 && axis.stride == 2 && axis.step == 1 && axis.begin[0] == 0 &&
           2 * output == input && axis.inner_end == output;
  };
  return geometry.input_layers == 1 && geometry.output_layers == 1 &&
         exact(geometry.rows, geometry.input_rows, geometry.output_rows) &&
         exact(geometry.columns, geometry.input_columns, geometry.output_columns);
}

}  // namespace flambeau::cpu
