#pragma once

#include "core/tensor/tensor.h"
#include "cpu/nn/conv_geometry.h"

// Images of few channels, in registers that hold matrices: what a row of a filter meets becomes so
// many channels, and filters have one column then. T is bfloat16.

namespace flambeau::cpu {

/// Whether the processor multiplies matrices of this dtype, and such channels fill registers that
/// those of the images do not.
bool multiplies_columns(const ConvGeometry& geometry, DType dtype);

/// What a convolution of these channels looks like.
ConvGeometry columns_geometry(const ConvGeometry& geometry);

/// The images' channels under a row of a filter at each column of the result: row-major, channels
/// with their columns inside, or of images that are channels-last, of one group, columns with their
/// channels inside. Both are dense.
Tensor columns_of_images(const ConvGeometry& geometry, const Tensor& images);
Tensor columns_of_pixels(const ConvGeometry& geometry, const Tensor& pixels);

/// Row-major filters, [outputs, channels, rows, columns], with rows inside: a view.
Tensor with_rows_inside(const Tensor& filters);

}  // namespace flambeau::cpu
