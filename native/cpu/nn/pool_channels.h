#pragma once

#include <optional>

#include "cpu/nn/pool_kernel.h"

namespace flambeau::cpu {

/// Images of which the channels of a pixel lie next to each other: they are pooled many channels at
/// a time, without a copy that brings the pixels of a channel together. Steps in elements.
struct ChannelImages {
  int64_t images, channels, image_step, row_step, column_step;
};

/// Where `input`, [c, h, w] or [n, c, h, w], is laid out so, and worth it.
std::optional<ChannelImages> channel_images(const Tensor& input);

/// Pooling of rows [begin, end) of the windows of all images. Results, their layout too, are as
/// those of PoolKernels.
template <class T>
struct ChannelPoolKernels {
  void (*max)(const PoolGeometry& geometry, const ChannelImages& images, int64_t begin, int64_t end,
              const T* input, T* result, int64_t* indices);
  void (*average)(const PoolGeometry& geometry, const ChannelImages& images, int64_t begin,
                  int64_t end, const T* divisors, const T* input, T* result);
};

FLAMBEAU_IN_EACH_SET(template <class T> const ChannelPoolKernels<T>& channel_pool_kernels();)

template <class T>
const ChannelPoolKernels<T>& channel_pool_kernels() {
  static const ChannelPoolKernels<T>& best = FLAMBEAU_PICK(channel_pool_kernels<T>)();
  return best;
}

/// body(T(), images), and true, where `input` is laid out so, of the result's type, float or
/// double.
template <class Body>
bool over_channels(const Tensor& result, const Tensor& input, const Body& body) {
  if (result.dtype() != input.dtype()) return false;
  if (result.dtype() != DType::float32 && result.dtype() != DType::float64) return false;
  const std::optional<ChannelImages> images = channel_images(input);
  if (!images) return false;
  if (result.dtype() == DType::float32)
    body(float(), *images);
  else
    body(double(), *images);
  return true;
}

/// body(begin, end) on ranges of the rows of windows of all images.
template <class Body>
void over_window_rows(const PoolGeometry& geometry, const ChannelImages& images, const Body& body) {
  const int64_t rows = std::max<int64_t>(images.images * geometry.output_rows, 1);
  const int64_t elements = images.channels * images.images * geometry.input_plane();
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / 2 / std::max<int64_t>(elements / rows, 1)),
               body);
}

}  // namespace flambeau::cpu
