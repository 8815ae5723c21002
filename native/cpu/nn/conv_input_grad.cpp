#include <algorithm>
#include <vector>

#include "cpu/channels_last.h"
#include "cpu/nn/conv_integers.h"
#include "cpu/nn/conv_parts.h"
#include "cpu/nn/conv_picked.h"
#include "cpu/nn/conv_pixels.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/correlation.h"
#include "cpu/nn/planes.h"
#include "cpu/nn/unfolding.h"
#include "kernels/convolution.h"

namespace flambeau::cpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// Padded input rows y = i * stride + phase, those inside the image: which i, and which taps reach
/// them. Tap r contributes the gradient's row (y - r * dilation) / stride.
struct Phase {
  int64_t first = 0, count = 0;       // of i
  std::vector<int64_t> taps, shifts;  // row of the gradient: i + shift
};

Phase make_phase(const ConvAxis& axis, int64_t phase) {
  Phase result;
  result.first = std::max<int64_t>(ceil_div(axis.padding - phase, axis.stride), 0);
  result.count = floor_div(axis.input - 1 + axis.padding - phase, axis.stride) - result.first + 1;
  for (int64_t r = 0; r < axis.kernel; ++r)
    if ((r * axis.dilation - phase) % axis.stride == 0) {
      result.taps.push_back(r);
      result.shifts.push_back((phase - r * axis.dilation) / axis.stride);
    }
  return result;
}

/// Those that taps reach; there may be any number of others.
std::vector<int64_t> reached_phases(const ConvAxis& axis) {
  std::vector<int64_t> phases;
  for (int64_t r = 0; r < axis.kernel; ++r) phases.push_back(r * axis.dilation % axis.stride);
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  return phases;
}

template <class T>
void run(const ConvGeometry& geometry, const Tensor& out, const Tensor& grad,
         const Tensor& weight) {
  const auto& [rows, columns] = geometry.axes;
  // A border on top and on the left, so that no shifted row is negative.
  const int64_t top = ceil_div((rows.kernel - 1) * rows.dilation, rows.stride);
  const int64_t left = ceil_div((columns.kernel - 1) * columns.dilation, columns.stride);
  const std::vector<int64_t> across = reached_phases(columns);
  for (const int64_t a : reached_phases(rows))
    for (const int64_t b : across) {
      const Phase y = make_phase(rows, a), x = make_phase(columns, b);
      if (y.count <= 0 || x.count <= 0) continue;
      Correlation<T> task;
      task.batch = geometry.batch;
      task.groups = geometry.groups;
      task.planes = {geometry.out_channels, rows.output, columns.output, top, left, 1, 1, 0, 0};
      std::vector<int64_t> taps;
      for (size_t r = 0; r < y.taps.size(); ++r)
        for (size_t s = 0; s < x.taps.size(); ++s) {
          task.tap_rows.push_back(y.first + y.shifts[r] + top);
          task.tap_columns.push_back(x.first + x.shifts[s] + left);
          taps.push_back(y.taps[r] * columns.kernel + x.taps[s]);
        }
      const int64_t kernel = geometry.kernel_size();
      task.weights = {weight.data<T>(),
                      geometry.in_channels,
                      kernel,
                      geometry.out_channels,
                      geometry.in_channels * kernel,
                      static_cast<int64_t>(taps.size()),
                      taps.data()};
      task.weight_group_step = geometry.out_channels * geometry.in_channels * kernel;
      task.rows = y.count;
      task.columns = x.count;
      task.source = grad.data<T>();
      task.result = out.data<T>() + (y.first * rows.stride + a - rows.padding) * columns.input +
                    x.first * columns.stride + b - columns.padding;
      task.channel_step = geometry.input_plane();
      task.row_step = rows.stride * columns.input;
      task.column_step = columns.stride;
      task.image_step = geometry.groups * geometry.in_channels * geometry.input_plane();
      correlate(std::move(task));
    }
}

/// Whether some element of the input is reached by no tap.
bool leaves_gaps(const ConvAxis& axis) {
  return static_cast<int64_t>(reached_phases(axis).size()) < axis.stride;
}

/// A result that is not row-major: by pixels, or of turned images.
void input_grad_formatted(const Tensor& result, const Tensor& grad, const Tensor& weight,
                          IntList input_size, const Ints<2>& stride, const Ints<2>& padding,
                          const Ints<2>& dilation, int64_t groups) {
  if (is_pixel_rows(result)) {
    if (sees_picked(weight.sizes(), stride, padding)) {
      const Tensor seen = picked(result, stride);
      const Tensor dense = empty_channels_last(seen.sizes(), result.dtype());
      conv2d_input_grad(dense, grad, weight, seen.sizes(), kUnitStride, padding, dilation, groups);
      fill_data(result, 0);
      return copy_data(seen, dense);
    }
    const ConvGeometry geometry =
        conv_geometry(input_size, weight.sizes(), grad.sizes(), stride, padding, dilation, groups);
    if (grad.numel() > 0 && try_pixels_input_grad(geometry, result, grad, weight)) return;
  }
  const Tensor dense = empty(result.sizes(), result.dtype());
  conv2d_input_grad(dense, grad, weight, input_size, stride, padding, dilation, groups);
  copy_data(result, dense);
}

}  // namespace

void conv2d_input_grad(const Tensor& result, const Tensor& grad, const Tensor& weight,
                       IntList input_size, const Ints<2>& stride, const Ints<2>& padding,
                       const Ints<2>& dilation, int64_t groups) {
  if (!result.is_contiguous())
    return input_grad_formatted(result, grad, weight, input_size, stride, padding, dilation,
                                groups);
  if (computed_by_parts(
          result, grad, weight, [&](const Tensor& out, const Tensor& g, const Tensor& w) {
            conv2d_input_grad(out, g, w, input_size, stride, padding, dilation, groups);
          })) {
    return;
  }
  if (sees_picked(weight.sizes(), stride, padding)) {
    const Tensor seen = picked(result, stride), dense = empty(seen.sizes(), result.dtype());
    conv2d_input_grad(dense, grad, weight, seen.sizes(), kUnitStride, padding, dilation, groups);
    fill_data(result, 0);
    return copy_data(seen, dense);
  }
  const ConvGeometry geometry =
      conv_geometry(input_size, weight.sizes(), grad.sizes(), stride, padding, dilation, groups);
  if (result.dtype() == DType::int64) {
    fill_data(result, 0);
    return spread_integers(geometry, result, contiguous_data(grad), contiguous_data(weight));
  }
  if (result.dtype() == DType::float32) {
    const Tensor g = contiguous_data(grad), w = contiguous_data(weight);
    if (try_winograd_spread(geometry, g.data<float>(), w.data<float>(), result.data<float>()))
      return;
  }
  if (input_grad_unfolds(geometry, result.dtype()) && geometry.axes[0].output > 0) {
    return with_float_compute(
        "conv2d_input_grad", result,
        [&](auto zero, const Tensor& out, const Tensor& g, const Tensor& w) {
          using T = decltype(zero);
          unfolded_input_grad<T>(geometry, g.data<T>(), w.data<T>(), out.data<T>());
        },
        grad, weight);
  }
  if (leaves_gaps(geometry.axes[0]) || leaves_gaps(geometry.axes[1]) || weight.sizes()[0] == 0)
    fill_data(result, 0);
  if (weight.sizes()[0] == 0) return;
  if (convolves_pairs(geometry, result.dtype()))
    return run<bfloat16>(geometry, result, contiguous_data(grad), contiguous_data(weight));
  with_float_compute(
      "conv2d_input_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& g, const Tensor& w) {
        using T = decltype(zero);
        if (try_planes_grad<T>(geometry, g.data<T>(), w.data<T>(), out.data<T>())) return;
        if (!out.is_same(result)) fill_data(out, 0);
        run<T>(geometry, out, g, w);
      },
      grad, weight);
}

}  // namespace flambeau::cpu
