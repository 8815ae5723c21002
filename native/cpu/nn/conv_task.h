#pragma once

#include <vector>

#include "cpu/nn/correlation.h"

namespace flambeau::cpu {

/// A convolution as a correlation, of dense images where nothing else is set; what is left to set
/// are source, result and bias. Images and filters are row-major, or, `by_pixels`, channels-last.
/// Must outlive the correlation.
template <class T>
struct ForwardTask {
  Correlation<T> task;
  std::vector<int64_t> taps;

  ForwardTask(const ConvGeometry& geometry, const T* weight, bool by_pixels = false) {
    const auto& [rows, columns] = geometry.axes;
    task.by_pixels = by_pixels;
    task.batch = geometry.batch;
    task.groups = geometry.groups;
    task.planes = padded_planes(geometry, 0, 0);  // correlate() finds both
    for (int64_t r = 0; r < rows.kernel; ++r)
      for (int64_t s = 0; s < columns.kernel; ++s) {
        task.tap_rows.push_back(r * rows.dilation);
        task.tap_columns.push_back(s * columns.dilation);
        taps.push_back((r * columns.kernel + s) * (by_pixels ? geometry.in_channels : 1));
      }
    const int64_t depth = geometry.in_channels * geometry.kernel_size();
    task.weights = {weight,
                    geometry.out_channels,
                    depth,
                    geometry.in_channels,
                    by_pixels ? 1 : geometry.kernel_size(),
                    geometry.kernel_size(),
                    taps.data()};
    task.weight_group_step = geometry.out_channels * depth;
    task.rows = rows.output;
    task.columns = columns.output;
    task.channel_step = geometry.output_plane();
    task.row_step = columns.output;
    task.image_step = geometry.groups * geometry.out_channels * geometry.output_plane();
  }
  ForwardTask(const ForwardTask&) = delete;
  ForwardTask& operator=(const ForwardTask&) = delete;
};

}  // namespace flambeau::cpu
