#pragma once

#include "core/tensor/tensor.h"

// Images, [batch, channels, ...], whose channels lie next to each other: in memory a matrix with a
// row of channels for each pixel.

namespace flambeau::cpu {

/// Whether images fill memory so.
bool is_pixel_rows(const Tensor& images);

/// Images by dims as they lie then, [batch, ..., channels]: a view.
Tensor with_channels_inside(const Tensor& images);

/// The same without gaps: of images that have them, or lie otherwise, a copy.
Tensor dense_pixels(const Tensor& images);

/// New images that fill memory so.
Tensor empty_channels_last(IntList sizes, DType dtype);

/// Images as [pixels, channels, 1], dense: of others a copy.
Tensor pixel_rows(const Tensor& images);

}  // namespace flambeau::cpu
