#pragma once

#include <vector>

#include "cpu/nn/correlation.h"

// The gradient of a convolution's input as correlations of that of its result: one for each phase
// of the strides, whose elements meet the same taps.

namespace flambeau::cpu {

/// Padded input rows y = i * stride + phase, those inside the image: which i, and which taps reach
/// them. Tap r contributes the gradient's row (y - r * dilation) / stride.
struct Phase {
  int64_t first = 0, count = 0;       // of i
  std::vector<int64_t> taps, shifts;  // row of the gradient: i + shift
};

Phase make_phase(const ConvAxis& axis, int64_t phase);

/// Those that taps reach; there may be any number of others.
std::vector<int64_t> reached_phases(const ConvAxis& axis);

/// Whether some element of the input is reached by no tap.
bool leaves_gaps(const ConvAxis& axis);

/// Of the gradient above and to the left of its first element, so that no row of a phase is less
/// than 0.
int64_t phase_border(const ConvAxis& axis);

/// Calls run(task) with the correlation of each phase. All are dense; weights are row-major, or, as
/// the images are, `by_pixels`, [filters, taps, channels].
template <class T, class Run>
void over_phases(const ConvGeometry& g, bool by_pixels, const T* weight, const T* grad, T* result,
                 const Run& run) {
  const auto& [rows, columns] = g.axes;
  const int64_t kernel = g.kernel_size(), tap = by_pixels ? g.in_channels : 1;
  const int64_t pixel = by_pixels ? g.groups * g.in_channels : 1;
  const int64_t top = phase_border(rows), left = phase_border(columns);
  const std::vector<int64_t> across = reached_phases(columns);
  for (const int64_t a : reached_phases(rows))
    for (const int64_t b : across) {
      const Phase y = make_phase(rows, a), x = make_phase(columns, b);
      if (y.count <= 0 || x.count <= 0) continue;
      Correlation<T> task;
      task.batch = g.batch;
      task.groups = g.groups;
      task.planes = {g.out_channels, rows.output, columns.output, top, left, 1, 1, 0, 0};
      std::vector<int64_t> taps;
      for (size_t r = 0; r < y.taps.size(); ++r)
        for (size_t s = 0; s < x.taps.size(); ++s) {
          task.tap_rows.push_back(y.first + y.shifts[r] + top);
          task.tap_columns.push_back(x.first + x.shifts[s] + left);
          taps.push_back((y.taps[r] * columns.kernel + x.taps[s]) * tap);
        }
      task.weights = {weight,         g.in_channels,          by_pixels ? 1 : kernel,
                      g.out_channels, g.in_channels * kernel, static_cast<int64_t>(taps.size()),
                      taps.data()};
      task.weight_group_step = g.out_channels * g.in_channels * kernel;
      task.rows = y.count;
      task.columns = x.count;
      task.source = grad;
      task.result = result + ((y.first * rows.stride + a - rows.padding) * columns.input +
                              x.first * columns.stride + b - columns.padding) *
                                 pixel;
      task.channel_step = g.input_plane();
      task.row_step = rows.stride * columns.input;
      task.column_step = columns.stride;
      task.image_step = g.groups * g.in_channels * g.input_plane();
      task.by_pixels = by_pixels;
      run(std::move(task));
    }
}

}  // namespace flambeau::cpu
