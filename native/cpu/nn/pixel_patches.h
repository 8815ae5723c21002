#pragma once

#include "core/tensor/tensor.h"
#include "cpu/nn/conv_geometry.h"

// Convolutions of channels-last images, of one group, as products: a patch under a filter is a row
// of a matrix, [taps, channels]. Images are [batch, rows, columns, channels], all are dense.

namespace flambeau::cpu {

/// Filters of one tap that see each pixel: images are matrices as they lie.
inline bool is_pixel_product(const ConvGeometry& g) {
  const auto is_one = [](const ConvAxis& axis) {
    return axis.kernel == 1 && axis.padding == 0 && axis.stride == 1;
  };
  return is_one(g.axes[0]) && is_one(g.axes[1]);
}

/// Whether there are so many positions that threads better share them, and have gradients of all
/// filters of their own.
inline bool has_many_positions(const ConvGeometry& g) {
  constexpr int64_t kManyReads = 4;
  const int64_t depth = g.in_channels * g.kernel_size(), filters = g.out_channels;
  return g.batch * g.output_plane() * (depth + filters) > kManyReads * depth * filters;
}

/// `weights`: [taps, channels, filters]; `bias` may be null. T is any floating type.
template <class T>
void convolve_patches(const ConvGeometry& geometry, const T* images, const T* weights,
                      const T* bias, T* result);
/// The gradient of the images, of any strides. T is float or double, as below. `weights`: [filters,
/// taps, channels].
template <class T>
void patches_input_grad(const ConvGeometry& geometry, const T* grads, const T* weights, T* result);
/// The gradient of the filters, [filters, rows, columns, channels] of any strides.
template <class T>
Tensor patches_weight_grad(const ConvGeometry& geometry, const T* images, const T* grads);

}  // namespace flambeau::cpu
