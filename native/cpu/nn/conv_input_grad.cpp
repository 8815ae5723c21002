#include "cpu/channels_last.h"
#include "cpu/nn/conv_integers.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/conv_parts.h"
#include "cpu/nn/conv_phases.h"
#include "cpu/nn/conv_picked.h"
#include "cpu/nn/conv_pixels.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/planes.h"
#include "cpu/nn/unfolding.h"
#include "kernels/convolution.h"

namespace flambeau::cpu {
namespace {

template <class T>
void run(const ConvGeometry& geometry, const Tensor& out, const Tensor& grad,
         const Tensor& weight) {
  over_phases(geometry, false, weight.data<T>(), grad.data<T>(), out.data<T>(),
              [&](Correlation<T> task) {
                if constexpr (std::is_same_v<T, bfloat16>)
                  if (convolves_matrices(geometry, DType::bfloat16))
                    return correlate_matrices(task);
                correlate(std::move(task));
              });
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
