#pragma once

#include "cpu/nn/pool_kernel.h"

namespace flambeau::cpu {

/// Images, or volumes, of which the channels of a pixel lie next to each other: they are pooled
/// many channels at a time. Steps in elements; a plane is a layer.
struct ChannelImages {
  int64_t images, channels, image_step, layer_step, row_step, column_step;
};

/// How such a tensor lies, [n, c, h, w] or [n, c, d, h, w].
ChannelImages channel_images(const Tensor& tensor);

/// Channels that are worth it to be handled together.
inline constexpr int64_t kSeveralChannels = 4;

/// Whether a result of at least so many channels lies so, without gaps, and places of its volumes,
/// and of those of `other`, are counted by 32 bits.
bool is_by_channels(const Tensor& result, const Tensor& other, int64_t channels);

/// The elements with the channels of a pixel next to each other: the tensor itself, or a copy.
Tensor by_channels(const Tensor& tensor, DType dtype);

// Pooling of rows [begin, end) of the windows of all images; results and their places lie as
// `to` says.

FLAMBEAU_IN_EACH_SET(template <class T>
                     void largest_of_channels(const PoolGeometry& geometry,
                                              const ChannelImages& from, const ChannelImages& to,
                                              int64_t begin, int64_t end, const T* input, T* result,
                                              int64_t* indices);)
FLAMBEAU_IN_EACH_SET(template <class T>
                     void average_channels(const PoolGeometry& geometry, const ChannelImages& from,
                                           const ChannelImages& to, int64_t begin, int64_t end,
                                           const T* divisors, const T* input, T* result);)
/// Of rows [begin, end) of all images of the result.
FLAMBEAU_IN_EACH_SET(template <class T>
                     void spread_channels(const PoolGeometry& geometry, const ChannelImages& from,
                                          const ChannelImages& to, int64_t begin, int64_t end,
                                          const T* divisors, const T* grad, T* result);)

/// body(T(), `input` of that type, its channels next to each other), and true, where those of the
/// result are, and it is of floats or doubles.
template <class Body>
bool over_channels(const Tensor& result, const Tensor& input, const Body& body,
                   int64_t least = kSeveralChannels) {
  const bool is_float = result.dtype() == DType::float32;
  if (!is_float && result.dtype() != DType::float64) return false;
  if (!is_by_channels(result, input, least)) return false;
  const Tensor given = by_channels(input, result.dtype());
  if (is_float)
    body(float(), given, channel_images(given), channel_images(result));
  else
    body(double(), given, channel_images(given), channel_images(result));
  return true;
}

/// body(begin, end) on ranges of `rows` rows of each image.
template <class Body>
void over_channel_rows(const PoolGeometry& geometry, const ChannelImages& images, int64_t rows,
                       const Body& body) {
  const int64_t all = std::max<int64_t>(images.images * rows, 1);
  const int64_t elements =
      images.channels * images.images * (geometry.input_plane() + geometry.output_plane());
  parallel_for(0, all, std::max<int64_t>(1, kGrain / 2 / std::max<int64_t>(elements / all, 1)),
               body);
}

}  // namespace flambeau::cpu
