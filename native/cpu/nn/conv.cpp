#include "cpu/channels_last.h"
#include "cpu/dtype_switch.h"
#include "cpu/nn/conv_columns.h"
#include "cpu/nn/conv_integers.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/conv_parts.h"
#include "cpu/nn/conv_picked.h"
#include "cpu/nn/conv_pixels.h"
#include "cpu/nn/conv_task.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/planes.h"
#include "cpu/nn/unfolding.h"
#include "kernels/convolution.h"

namespace flambeau::cpu {
namespace {

/// Adds complex numbers to the channels of dense images.
void add_to_channels(const Tensor& images, const Tensor& bias) {
  if (!bias.defined() || images.numel() == 0) return;
  visit_dtype(images.dtype(), [&]<class T>() {
    const Tensor dense = contiguous_data(bias);
    const int64_t channels = dense.numel();
    const int64_t area = images.size(images.dim() - 1) * images.size(images.dim() - 2);
    for (int64_t i = 0; i < images.numel(); ++i)
      images.data<T>()[i] = plus(images.data<T>()[i], dense.data<T>()[i / area % channels]);
  });
}

/// A result that is not row-major: by pixels, or of turned images.
void convolve_formatted(const Tensor& result, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const Ints<2>& stride, const Ints<2>& padding,
                        const Ints<2>& dilation, int64_t groups) {
  if (is_pixel_rows(result)) {
    const bool picks = sees_picked(weight.sizes(), stride, padding);
    const Tensor seen = picks ? picked(input, stride) : input;
    const ConvGeometry geometry =
        conv_geometry(seen.sizes(), weight.sizes(), result.sizes(), picks ? kUnitStride : stride,
                      padding, dilation, groups);
    if (try_convolve_pixels(geometry, result, seen, weight, bias)) return;
  }
  const Tensor dense = empty(result.sizes(), result.dtype());
  conv2d(dense, input, weight, bias, stride, padding, dilation, groups);
  copy_data(result, dense);
}

/// Row-major images where convolves_matrices.
void multiply_matrices(const ConvGeometry& geometry, const Tensor& x, const Tensor& w,
                       const Tensor& b, const Tensor& result) {
  ForwardTask<bfloat16> forward(geometry, w.data<bfloat16>());
  forward.task.source = x.data<bfloat16>();
  forward.task.result = result.data<bfloat16>();
  forward.task.bias = b.defined() ? b.data<bfloat16>() : nullptr;
  correlate_matrices(forward.task);
}

}  // namespace

void conv2d(const Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias,
            const Ints<2>& stride, const Ints<2>& padding, const Ints<2>& dilation,
            int64_t groups) {
  if (!result.is_contiguous())
    return convolve_formatted(result, input, weight, bias, stride, padding, dilation, groups);
  if (computed_by_parts(result, input, weight,
                        [&](const Tensor& out, const Tensor& x, const Tensor& w) {
                          conv2d(out, x, w, Tensor(), stride, padding, dilation, groups);
                        })) {
    return add_to_channels(result, bias);
  }
  if (sees_picked(weight.sizes(), stride, padding))
    return conv2d(result, picked(input, stride), weight, bias, kUnitStride, padding, dilation,
                  groups);
  const ConvGeometry geometry = conv_geometry(input.sizes(), weight.sizes(), result.sizes(), stride,
                                              padding, dilation, groups);
  if (result.dtype() == DType::int64) {
    return convolve_integers(geometry, result, contiguous_data(input), contiguous_data(weight),
                             bias.defined() ? contiguous_data(bias) : bias);
  }
  if (multiplies_columns(geometry, result.dtype())) {
    const Tensor x = columns_of_images(geometry, contiguous_data(input));
    const Tensor w = contiguous_data(with_rows_inside(weight));
    const Tensor b = bias.defined() ? contiguous_data(bias) : bias;
    return multiply_matrices(columns_geometry(geometry), x, w, b, result);
  }
  if (forward_unfolds(geometry, result.dtype())) {
    return with_floating(result.dtype(), "conv", [&]<class T>() {
      const Tensor x = contiguous_data(input), w = contiguous_data(weight);
      const Tensor b = bias.defined() ? contiguous_data(bias) : bias;
      convolve_unfolded<T>(geometry, x.data<T>(), w.data<T>(), b.defined() ? b.data<T>() : nullptr,
                           result.data<T>());
    });
  }
  const auto run = [&](auto zero, const Tensor& out, const Tensor& x, const Tensor& w,
                       const Tensor& b) {
    using T = decltype(zero);
    if (convolves_matrices(geometry, dtype_of<T>)) return multiply_matrices(geometry, x, w, b, out);
    if constexpr (!std::is_same_v<T, bfloat16>)
      if (try_planes<T>(geometry, x.data<T>(), w.data<T>(), b.defined() ? b.data<T>() : nullptr,
                        out.data<T>()))
        return;
    ForwardTask<T> forward(geometry, w.data<T>());
    forward.task.source = x.data<T>();
    forward.task.result = out.data<T>();
    forward.task.bias = b.defined() ? b.data<T>() : nullptr;
    correlate(std::move(forward.task));
  };
  if (convolves_pairs(geometry, result.dtype()))
    return run(bfloat16(), result, contiguous_data(input), contiguous_data(weight),
               bias.defined() ? contiguous_data(bias) : bias);
  with_float_compute("conv2d", result, run, input, weight, bias);
}

}  // namespace flambeau::cpu
