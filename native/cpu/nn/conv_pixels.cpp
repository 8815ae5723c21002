#include "cpu/nn/conv_pixels.h"

#include <algorithm>

#include "cpu/channels_last.h"
#include "cpu/dtype_switch.h"
#include "cpu/linalg/gemm.h"
#include "cpu/nn/channel_filters.h"
#include "cpu/nn/conv_columns.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/conv_phases.h"
#include "cpu/nn/conv_task.h"
#include "cpu/nn/pixel_patches.h"
#include "cpu/nn/pixel_windows.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kFewChannels = 16;         // of a group: their lines are shorter than vectors
constexpr int64_t kWinogradChannels = 16;    // that pay for turning images, and for transforms
constexpr int64_t kLargeChannels = 32;       // that pay for it with filters of 5x5
constexpr int64_t kPatchChannels = 32;       // of images or results, that pay for copying patches
constexpr int64_t kNearFilters = 512 << 10;  // bytes: of L2, beside the rows that they meet
constexpr int64_t kLeastOutputs = 4;         // of a group, for windows to be read where they lie
constexpr int64_t kManyOutputs = 8;          // that windows give faster than sums of patches

/// Whether row-major images are convolved with fewer products than filters have elements.
bool has_transforms(const ConvGeometry& g, DType dtype, bool of_weights = false) {
  const auto& [rows, columns] = g.axes;
  if (dtype != DType::float32 || rows.kernel != columns.kernel || rows.stride != columns.stride)
    return false;
  const int64_t channels = std::min(g.in_channels, g.out_channels);
  if (channels < (rows.kernel == 5 ? kLargeChannels : kWinogradChannels)) return false;
  if (of_weights) return rows.stride == 1 && rows.kernel == 3;
  const bool is_square = rows.stride == 1 && (rows.kernel == 3 || rows.kernel == 5);
  return is_square || (rows.kernel > 2 && rows.kernel == 2 * rows.stride);
}

/// Whether filters fill vectors, and lines of patches are worth copying.
bool fills_lines(const ConvGeometry& g) {
  const int64_t line = g.in_channels * g.axes[1].kernel;
  return g.groups == 1 && g.out_channels >= kFewChannels &&
         line >= (is_pixel_product(g) ? kFewChannels : 2 * kFewChannels);
}

/// Whether the gradients of all patches are a product that pays for adding them up.
bool folds_patches(const ConvGeometry& g) {
  return g.groups == 1 && g.out_channels >= kFewChannels;
}

bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }
bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// Whether windows are products of matrix registers.
bool multiplies_windows(const ConvGeometry& g, DType dtype) {
  return g.groups == 1 && !is_pixel_product(g) && convolves_matrices(g, dtype);
}

/// Calls body(T()) with the type of a result's numbers.
template <class Body>
void with_type(DType dtype, const Body& body) {
  with_floating(dtype, "conv2d", [&]<class T>() { body(T()); });
}

/// Calls body(T()) with float or double.
template <class Body>
auto with_real(DType dtype, const Body& body) {
  return dtype == DType::float32 ? body(float()) : body(double());
}

/// Whether tiles are so high, and filters so small, that reading all filters for each tile takes
/// less than copying patches.
bool keeps_filters_near(const ConvGeometry& g, DType dtype) {
  return with_real(dtype, [&]<class T>(T) {
    const int64_t filters = g.in_channels * g.kernel_size() * g.out_channels;
    return has_high_window_tiles<T>() && filters <= kNearFilters / static_cast<int64_t>(sizeof(T));
  });
}

/// Whether windows are better read where they lie, in a pass whose results have so many channels:
/// those that are too small, or of too few channels, for products of patches.
bool reads_windows(const ConvGeometry& g, DType dtype, int64_t outputs) {
  if (!is_float(dtype) || is_pixel_product(g) || outputs < kLeastOutputs) return false;
  const bool pays_for_patches =
      fills_lines(g) && std::max(g.in_channels, g.out_channels) >= kPatchChannels;
  if (pays_for_patches && !keeps_filters_near(g, dtype)) return false;
  if (g.in_channels == 0 || g.out_channels == 0) return false;
  const auto& [rows, columns] = g.axes;
  return with_real(dtype, [&]<class T>(T) {
    return is_near<T>((rows.kernel - 1) * rows.dilation + 1,
                      std::max(columns.covered(), columns.input),
                      g.groups * std::max(g.in_channels, g.out_channels));
  });
}

/// Whether so many results in a row fill tiles.
bool fills_tiles(DType dtype, int64_t columns) {
  return with_real(dtype, [&]<class T>(T) { return fills_window_tiles<T>(columns); });
}

/// The gradient of filters where windows are read where they lie.
template <class T>
void copy_windows_weight_grad(const ConvGeometry& g, const Tensor& result, const Tensor& images,
                              const Tensor& grads) {
  ForwardTask<T> forward(g, nullptr, true);
  forward.task.source = images.data<T>();
  const Tensor sums = windows_weight_grad(forward.task, grads.data<T>());
  const int64_t filters = g.out_channels, column = g.in_channels * filters;
  const int64_t row = g.axes[1].kernel * column;
  const Shape sizes{g.groups, filters, g.axes[0].kernel, g.axes[1].kernel, g.in_channels};
  const Shape& to = result.strides();
  copy_data(
      make_view(result, sizes, Shape{filters * to[0], to[0], to[2], to[3], to[1]}, result.offset()),
      make_view(sums, sizes, Shape{g.axes[0].kernel * row, 1, row, column, filters},
                sums.offset()));
}

/// A result of halves by way of one of floats: compute(wide, others as floats...).
template <class Compute, class... Others>
bool by_floats(const Tensor& result, const Compute& compute, const Others&... others) {
  const Tensor wide = empty_channels_last(result.sizes(), DType::float32);
  const auto widened = [](const Tensor& other) {
    return other.defined() ? cast_data(other, DType::float32) : other;
  };
  if (!compute(wide, widened(others)...)) return false;
  copy_data(result, wide);
  return true;
}

/// [filters, channels, rows, columns] by `order`, dense.
Tensor ordered(const Tensor& weight, const std::array<size_t, 4>& order) {
  Shape sizes, strides;
  for (size_t dim : order) {
    sizes.push_back(weight.sizes()[dim]);
    strides.push_back(weight.strides()[dim]);
  }
  return contiguous_data(make_view(weight, sizes, strides, weight.offset()));
}

/// [taps, filters, channels], the taps from the last to the first: what meets the gradient.
template <class T>
Tensor reversed(const Tensor& weight) {
  const Tensor taps = ordered(weight, {2, 3, 0, 1}), result = empty(taps.sizes(), taps.dtype());
  const int64_t count = taps.size(0) * taps.size(1), step = taps.size(2) * taps.size(3);
  for (int64_t t = 0; t < count; ++t)
    std::copy_n(taps.data<T>() + t * step, step, result.data<T>() + (count - 1 - t) * step);
  return result;
}

/// What a stride-1 convolution of the gradient looks like that gives the gradient of the input.
ConvGeometry transposed(const ConvGeometry& g) {
  ConvGeometry result = g;
  std::swap(result.in_channels, result.out_channels);
  for (ConvAxis& axis : result.axes) {
    std::swap(axis.input, axis.output);
    axis.padding = (axis.kernel - 1) * axis.dilation - axis.padding;
  }
  return result;
}

/// A correlation with 3x3 taps, read where they lie: element (i, (j, t)) of the weights is at
/// i * row + j * major + taps[t]. False, and the result unfinished, where that does not pay, or
/// numbers are not finite.
bool try_transforms(const ConvGeometry& g, const float* images, const ConvWeights<float>& weights,
                    const float* bias, float* result) {
  if (g.kernel_size() != 9 || g.groups != 1) return false;
  ForwardTask<float> forward(g, weights.data);
  forward.task.weights = weights;
  forward.task.source = images;
  forward.task.result = result;
  forward.task.bias = bias;
  forward.task.by_pixels = true;
  return try_winograd(forward.task);
}

/// Where the taps of a filter lie, from the last to the first where they meet the gradient.
std::vector<int64_t> places_of_taps(const Tensor& weight, bool reversed) {
  std::vector<int64_t> taps;
  for (int64_t r = 0; r < weight.size(2); ++r)
    for (int64_t s = 0; s < weight.size(3); ++s)
      taps.push_back(r * weight.strides()[2] + s * weight.strides()[3]);
  if (reversed) std::reverse(taps.begin(), taps.end());
  return taps;
}

/// Filters as Winograd's transforms read them: row-major, or channels-last.
Tensor readable(const Tensor& weight) {
  return weight.is_contiguous() || is_pixel_rows(weight) ? weight : contiguous_data(weight);
}

/// Where multiplies_windows. `images` are dense pixels.
void multiply_windows(const ConvGeometry& g, const Tensor& images, const Tensor& weight,
                      const Tensor& bias, const Tensor& result) {
  const Tensor filters = dense_pixels(weight), out = with_channels_inside(result);
  const Tensor shifts = bias.defined() ? contiguous_data(bias) : bias;
  ForwardTask<bfloat16> forward(g, filters.data<bfloat16>(), true);
  forward.task.source = images.data<bfloat16>();
  forward.task.result = out.data<bfloat16>();
  forward.task.bias = shifts.defined() ? shifts.data<bfloat16>() : nullptr;
  correlate_matrices(forward.task);
}

}  // namespace

bool try_convolve_pixels(const ConvGeometry& g, const Tensor& result, const Tensor& input,
                         const Tensor& weight, const Tensor& bias) {
  const DType dtype = result.dtype();
  if (!is_float(dtype) && !is_half(dtype)) return false;
  if (multiplies_windows(g, dtype)) {
    multiply_windows(g, dense_pixels(input), weight, bias, result);
    return true;
  }
  if (g.groups == 1 && multiplies_columns(g, dtype)) {
    multiply_windows(columns_geometry(g), columns_of_pixels(g, dense_pixels(input)), weight, bias,
                     result);
    return true;
  }
  const bool per_channel = has_filter_per_channel(g);
  if (per_channel && is_half(dtype)) {
    const auto compute = [&](const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& b) {
      return try_convolve_pixels(g, out, x, w, b);
    };
    return by_floats(result, compute, input, weight, bias);
  }
  const bool transforms = !per_channel && has_transforms(g, result.dtype());
  const bool in_place =
      reads_windows(g, dtype, g.out_channels) && fills_tiles(dtype, g.axes[1].output);
  const bool is_turned = (transforms && g.kernel_size() != 9) || (!fills_lines(g) && !in_place);
  if (!per_channel && is_turned) return false;
  const Tensor images = dense_pixels(input), out = with_channels_inside(result);
  if (transforms) {
    const Tensor w = readable(weight), b = bias.defined() ? contiguous_data(bias) : bias;
    const std::vector<int64_t> taps = places_of_taps(w, false);
    const ConvWeights<float> weights{w.data<float>(), g.out_channels, w.strides()[0],
                                     g.in_channels,   w.strides()[1], 9,
                                     taps.data()};
    return try_transforms(g, images.data<float>(), weights, b.defined() ? b.data<float>() : nullptr,
                          out.data<float>());
  }
  const Tensor shifts = bias.defined() ? contiguous_data(bias) : bias;
  if (in_place && !per_channel) {
    const Tensor filters = dense_pixels(weight);
    with_real(dtype, [&]<class T>(T) {
      ForwardTask<T> forward(g, filters.data<T>(), true);
      forward.task.source = images.data<T>();
      forward.task.result = out.data<T>();
      forward.task.bias = shifts.defined() ? shifts.data<T>() : nullptr;
      correlate_windows(forward.task);
    });
    return true;
  }
  const Tensor filters = ordered(weight, {2, 3, 1, 0});
  const auto run = [&]<class T>(T) {
    const T* const b = shifts.defined() ? shifts.data<T>() : nullptr;
    if (!per_channel)
      return convolve_patches<T>(g, images.data<T>(), filters.data<T>(), b, out.data<T>());
    if constexpr (std::is_floating_point_v<T>)
      filter_channels<T>(g, images.data<T>(), filters.data<T>(), b, out.data<T>());
  };
  with_type(dtype, run);
  return true;
}

bool try_pixels_input_grad(const ConvGeometry& g, const Tensor& result, const Tensor& grad,
                           const Tensor& weight) {
  const DType dtype = result.dtype();
  if (!is_float(dtype) && !is_half(dtype)) return false;
  if (multiplies_windows(g, dtype)) {
    const Tensor filters = dense_pixels(weight), grads = dense_pixels(grad);
    const Tensor out = with_channels_inside(result);
    if (leaves_gaps(g.axes[0]) || leaves_gaps(g.axes[1])) fill_data(out, 0);
    over_phases(g, true, filters.data<bfloat16>(), grads.data<bfloat16>(), out.data<bfloat16>(),
                [](const Correlation<bfloat16>& task) { correlate_matrices(task); });
    return true;
  }
  const bool per_channel = has_filter_per_channel(g);
  const bool has_strides = g.axes[0].stride > 1 || g.axes[1].stride > 1;
  const bool is_product = g.groups == 1 && is_pixel_product(g);
  const auto& [rows, columns] = g.axes;
  const bool sees_windows =
      reads_windows(g, dtype, g.in_channels) && fills_tiles(dtype, columns.input / columns.stride);
  const bool by_patches = !per_channel && folds_patches(g) &&
                          (has_strides || !(fills_lines(g) || is_product ||
                                            (sees_windows && g.in_channels >= kManyOutputs)));
  if (is_half(dtype) && (per_channel || has_strides || by_patches)) {
    const auto compute = [&](const Tensor& out, const Tensor& from, const Tensor& w) {
      return try_pixels_input_grad(g, out, from, w);
    };
    return by_floats(result, compute, grad, weight);
  }
  const bool transforms = !per_channel && has_transforms(g, result.dtype());
  const bool in_place = sees_windows && !by_patches;
  const bool is_turned = (transforms && g.kernel_size() != 9) ||
                         (!fills_lines(g) && !in_place && !by_patches && !is_product);
  if (!per_channel && is_turned) return false;
  const Tensor grads = dense_pixels(grad), out = with_channels_inside(result);
  if (transforms) {
    const Tensor w = readable(weight);
    const std::vector<int64_t> taps = places_of_taps(w, true);
    const ConvWeights<float> weights{w.data<float>(), g.in_channels,  w.strides()[1],
                                     g.out_channels,  w.strides()[0], 9,
                                     taps.data()};
    return try_transforms(transposed(g), grads.data<float>(), weights, nullptr, out.data<float>());
  }
  if (in_place && !per_channel) {
    const Tensor filters = dense_pixels(weight);
    if (leaves_gaps(rows) || leaves_gaps(columns)) fill_data(out, 0);
    with_real(dtype, [&]<class T>(T) {
      over_phases(g, true, filters.data<T>(), grads.data<T>(), out.data<T>(),
                  [](const Correlation<T>& task) { correlate_windows(task); });
    });
    return true;
  }
  const auto run = [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      if (per_channel)
        return filter_channels_grad<T>(g, grads.data<T>(), ordered(weight, {2, 3, 1, 0}).data<T>(),
                                       out.data<T>());
      if (by_patches)
        return patches_input_grad<T>(g, grads.data<T>(), ordered(weight, {0, 2, 3, 1}).data<T>(),
                                     out.data<T>());
    }
    convolve_patches<T>(transposed(g), grads.data<T>(), reversed<T>(weight).template data<T>(),
                        static_cast<const T*>(nullptr), out.data<T>());
  };
  with_type(dtype, run);
  return true;
}

bool try_pixels_weight_grad(const ConvGeometry& g, const Tensor& result, const Tensor& grad,
                            const Tensor& input) {
  const DType dtype = result.dtype();
  if (!is_float(dtype) && !is_half(dtype)) return false;
  const bool per_channel = has_filter_per_channel(g);
  if (is_half(dtype) && (per_channel || !is_pixel_product(g))) {
    const auto compute = [&](const Tensor& out, const Tensor& from, const Tensor& x) {
      return try_pixels_weight_grad(g, out, from, x);
    };
    return per_channel && by_floats(result, compute, grad, input);
  }
  // Sums of all filters on each thread are written and read more than patches of few positions.
  const bool in_place = reads_windows(g, dtype, g.out_channels) && has_many_positions(g);
  const bool is_turned = has_transforms(g, result.dtype(), true) || (!fills_lines(g) && !in_place);
  if (!per_channel && is_turned) return false;
  const Tensor grads = dense_pixels(grad), images = dense_pixels(input);
  if (in_place && !per_channel) {
    with_real(dtype, [&]<class T>(T) { copy_windows_weight_grad<T>(g, result, images, grads); });
    return true;
  }
  const auto run = [&]<class T>(T) {
    if constexpr (!std::is_floating_point_v<T>) {
      // All positions at once: sums are rounded once.
      const Tensor sums = empty(Shape{g.out_channels, g.in_channels}, dtype);
      gemm<T>({g.out_channels,
               g.in_channels,
               g.batch * g.output_plane(),
               {grads.data<T>(), 1, g.out_channels},
               {images.data<T>(), g.in_channels, 1},
               sums.data<T>(),
               g.in_channels});
      return copy_data(with_channels_inside(result),
                       make_view(sums, Shape{g.out_channels, 1, 1, g.in_channels},
                                 Shape{g.in_channels, 1, 1, 1}, sums.offset()));
    } else if (per_channel) {
      const Tensor sums = channel_filters_grad<T>(g, images.data<T>(), grads.data<T>());
      copy_data(result, make_view(sums, result.sizes(),
                                  Shape{1, 1, result.size(3) * g.groups, g.groups}, sums.offset()));
    } else {
      copy_data(with_channels_inside(result),
                patches_weight_grad<T>(g, images.data<T>(), grads.data<T>()));
    }
  };
  with_type(dtype, run);
  return true;
}

}  // namespace flambeau::cpu
