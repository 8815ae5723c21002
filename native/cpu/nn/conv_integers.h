#pragma once

#include "cpu/nn/conv_geometry.h"

namespace flambeau::cpu {

/// Convolutions of int64, which wrap around, tap by tap; all tensors are dense.
void convolve_integers(const ConvGeometry& geometry, const Tensor& result, const Tensor& input,
                       const Tensor& weight, const Tensor& bias);
/// Their adjoint in the input: adds to the result, which holds zeros.
void spread_integers(const ConvGeometry& geometry, const Tensor& result, const Tensor& grad,
                     const Tensor& weight);

}  // namespace flambeau::cpu
