#pragma once

#include <algorithm>
#include <vector>

#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"

namespace flambeau::cpu {

/// One spatial dimension of a convolution.
struct ConvAxis {
  int64_t input, output, kernel, stride, padding, dilation;
  /// Elements of the padded image from the first window to the last.
  int64_t covered() const {
    return std::max<int64_t>(output - 1, 0) * stride + (kernel - 1) * dilation + 1;
  }
};

/// Sizes of a 2-d convolution; [0] is rows, [1] columns.
struct ConvGeometry {
  int64_t batch, groups, in_channels, out_channels;  ///< channels per group
  ConvAxis axes[2];
  int64_t kernel_size() const { return axes[0].kernel * axes[1].kernel; }
  int64_t input_plane() const { return axes[0].input * axes[1].input; }
  int64_t output_plane() const { return axes[0].output * axes[1].output; }
  /// Whether filters are larger than all patches: products better read them but once.
  bool has_large_filters() const { return out_channels > batch * output_plane(); }
};

ConvGeometry conv_geometry(IntList input, IntList weight, IntList output, const Ints<2>& stride,
                           const Ints<2>& padding, const Ints<2>& dilation, int64_t groups);

/// Planes with a zero border, split by stride: plane (a, b) of a channel holds elements
/// (i * stride + a, j * stride + b) of the padded image, so that every tap reads unit steps.
struct PaddedPlanes {
  int64_t channels, rows, columns;  ///< of the image
  int64_t top, left;                ///< border, may be negative (cropped)
  int64_t row_stride, column_stride;
  int64_t height, pitch;  ///< of one split plane; pitch also counts the border
  /// Where the planes of the channels lie in the image; null: after each other.
  const int64_t* places = nullptr;
  /// How many zeros behind a row are those before the next one: pitch does not count them.
  int64_t shared = 0;
  int64_t place(int64_t channel) const {
    return places ? places[channel] : channel * rows * columns;
  }
  int64_t plane() const { return height * pitch; }
  int64_t channel() const { return plane() * row_stride * column_stride; }
  /// Where padded row y, column x of channel 0 lies.
  int64_t offset(int64_t y, int64_t x) const {
    return ((y % row_stride) * column_stride + x % column_stride) * plane() +
           (y / row_stride) * pitch + x / column_stride;
  }
  /// Whether the image itself already looks like this.
  bool is_identity() const {
    return top == 0 && left == 0 && row_stride == 1 && column_stride == 1 && height == rows &&
           pitch == columns;
  }
};

/// The planes of a convolution's images, split by its strides.
inline PaddedPlanes padded_planes(const ConvGeometry& geometry, int64_t height, int64_t pitch) {
  const auto& [rows, columns] = geometry.axes;
  return {geometry.in_channels, rows.input,     columns.input, rows.padding, columns.padding,
          rows.stride,          columns.stride, height,        pitch};
}

/// Fills rows [first, first + planes.height) of the split planes from a dense image.
template <class T>
void pad_planes(const PaddedPlanes& planes, int64_t first, const T* image, T* padded);

/// The same with pairs of `channels` channels, each two of them a plane.
void pad_pairs(const PaddedPlanes& planes, int64_t channels, int64_t first, const bfloat16* image,
               uint32_t* padded);

}  // namespace flambeau::cpu
