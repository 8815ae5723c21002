#pragma once

#include "core/tensor/tensor.h"
#include "cpu/nn/conv_geometry.h"

// Convolutions of channels-last images, without turning them: the patches under a filter are lines
// of a matrix, and a filter for each channel meets vectors of channels.

namespace flambeau::cpu {

/// `result`, [batch, channels, rows, columns], is channels-last without gaps; the others may lie in
/// any way. False, and the result unfinished, where images are better turned.
bool try_convolve_pixels(const ConvGeometry& geometry, const Tensor& result, const Tensor& input,
                         const Tensor& weight, const Tensor& bias);
bool try_pixels_input_grad(const ConvGeometry& geometry, const Tensor& result, const Tensor& grad,
                           const Tensor& weight);
bool try_pixels_weight_grad(const ConvGeometry& geometry, const Tensor& result, const Tensor& grad,
                            const Tensor& input);

}  // namespace flambeau::cpu
