#include <algorithm>
#include <vector>

#include "core/tensor/views.h"
#include "core/threads/parallel.h"
#include "cpu/nn/conv_task.h"
#include "kernels/convolution.h"
#include "kernels/volume_convolution.h"

// Convolutions of volumes: each layer of the result is that of an image, whose channels are the
// layers that the filter meets there. They are read where they lie.

namespace flambeau::cpu {
namespace {

constexpr int64_t kFewOutputs = 16;  // for which Winograd's transforms do not pay

/// Whether filters could be Winograd's, which need images that are dense: larger squares, of steps
/// of one or of half their size.
bool is_square(const ConvGeometry& geometry) {
  const auto& [rows, columns] = geometry.axes;
  return rows.kernel == columns.kernel && rows.stride == columns.stride && rows.kernel > 1 &&
         (rows.stride == 1 || rows.kernel == 2 * rows.stride);
}

bool reads_in_place(const ConvGeometry& geometry, const Tensor& met) {
  const Shape& steps = met.strides();
  if (met.dtype() != DType::float32 && met.dtype() != DType::float64) return false;
  if (geometry.in_channels == 1 || geometry.kernel_size() == 1) return false;
  return steps[5] == 1 && steps[4] == met.size(5) &&
         (geometry.out_channels <= kFewOutputs || !is_square(geometry));
}

/// How many zeros behind a row are those before the next one, where rows are framed: these are no
/// shorter than the rows of the result.
int64_t shared_zeros(const ConvAxis& columns) {
  return std::clamp<int64_t>(columns.padding, 0, (columns.kernel - 1) * columns.dilation);
}

/// Layers of volumes that several windows meet, among zeros: in place of the copy that each window
/// would make of them. Zeros behind a row are those before the next one. Undefined where there are
/// no zeros, or each window meets its own.
template <class T>
Tensor framed_layers(const ConvGeometry& geometry, const Tensor& met) {
  const auto& [rows, columns] = geometry.axes;
  const Shape& steps = met.strides();
  const int64_t plane = geometry.input_plane(), step = steps[1] / plane, apart = steps[3] / plane;
  if ((rows.padding == 0 && columns.padding == 0) || rows.stride > 1 || columns.stride > 1)
    return {};
  if (met.size(3) == 1 || steps[1] % plane != 0 || steps[3] % plane != 0 || steps[1] <= 0)
    return {};
  const int64_t layers = (met.size(1) - 1) * step + (met.size(3) - 1) * apart + 1;
  if (apart <= 0 || layers > met.size(1) * met.size(3)) return {};
  const int64_t shared = shared_zeros(columns);
  const int64_t height = rows.input + 2 * rows.padding;
  const int64_t width = columns.input + 2 * columns.padding - shared;
  const Shape sizes{met.size(0), met.size(2), layers, height, width};
  const Shape dense = contiguous_strides(sizes);
  const int64_t all = sizes[0] * dense[0];
  const Tensor framed = empty(Shape{all + shared}, met.dtype());
  std::fill_n(framed.data<T>() + all, shared, T(0));
  const PaddedPlanes planes{layers, rows.input, columns.input, rows.padding, columns.padding,
                            1,      1,          height,        width};
  const int64_t channels = met.size(2), size = layers * height * width;
  parallel_for(0, met.size(0) * channels, std::max<int64_t>(1, kGrain / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   pad_planes(planes, 0,
                              met.data<T>() + i / channels * steps[0] + i % channels * steps[2],
                              framed.data<T>() + i * size);
               });
  return make_view(framed, Shape{sizes[0], met.size(1), sizes[1], met.size(3), height, width},
                   Shape{dense[0], step * dense[2], dense[1], apart * dense[2], width, 1},
                   framed.offset());
}

template <class T>
void convolve_in_place(ConvGeometry geometry, const Tensor& result, const Tensor& given,
                       const Tensor& weight, const Tensor& bias) {
  const Tensor framed = framed_layers<T>(geometry, given), &met = framed.defined() ? framed : given;
  const int64_t shared = framed.defined() ? shared_zeros(geometry.axes[1]) : 0;
  for (size_t i = 0; framed.defined() && i < 2; ++i) {
    geometry.axes[i].input = met.size(static_cast<int64_t>(4 + i));
    geometry.axes[i].padding = 0;
  }
  const Shape& steps = met.strides();
  const Tensor w = contiguous_data(weight), b = bias.defined() ? contiguous_data(bias) : bias;
  std::vector<int64_t> places;
  const int64_t channels = met.size(2) / geometry.groups, deep = met.size(3);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t q = 0; q < deep; ++q) places.push_back(c * steps[2] + q * steps[3]);
  ForwardTask<T> forward(geometry, w.data<T>());
  Correlation<T>& task = forward.task;
  task.planes.places = places.data();
  task.planes.shared = shared;
  task.source = met.data<T>();
  task.layers = met.size(1);
  task.volume_step = steps[0];
  task.layer_step = steps[1];
  task.group_step = channels * steps[2];
  task.result = result.data<T>();
  task.image_step = geometry.output_plane();
  task.channel_step = task.layers * task.image_step;
  task.result_volume_step = result.size(1) * task.channel_step;
  task.bias = b.defined() ? b.data<T>() : nullptr;
  correlate(std::move(task));
}

}  // namespace

void convolved_layers(const Tensor& result, const Tensor& met, const Tensor& weight,
                      const Tensor& bias, const Ints<2>& stride, const Ints<2>& padding,
                      const Ints<2>& dilation, int64_t groups) {
  if (result.numel() == 0) return;
  const int64_t images = met.size(0) * met.size(1), depth = weight.size(1) * weight.size(2);
  const Shape planes{images, depth * groups, met.size(4), met.size(5)};
  const Shape filters{weight.size(0), depth, weight.size(3), weight.size(4)};
  const Shape found{images, result.size(1), result.size(3), result.size(4)};
  const ConvGeometry geometry =
      conv_geometry(planes, filters, found, stride, padding, dilation, groups);
  if (reads_in_place(geometry, met)) {
    if (met.dtype() == DType::float32)
      return convolve_in_place<float>(geometry, result, met, weight, bias);
    return convolve_in_place<double>(geometry, result, met, weight, bias);
  }
  const auto shaped = [](const Tensor& tensor, const Shape& sizes) {
    const Tensor dense = contiguous_data(tensor);
    return make_view(dense, sizes, contiguous_strides(sizes), dense.offset());
  };
  const Tensor layers = empty(found, result.dtype());
  conv2d(layers, shaped(met, planes), shaped(weight, filters), bias, stride, padding, dilation,
         groups);
  const Shape sizes{met.size(0), met.size(1), result.size(1), result.size(3), result.size(4)};
  copy_data(result,
            make_view(shaped(layers, sizes), views::transpose(shaped(layers, sizes), 1, 2)));
}

}  // namespace flambeau::cpu
