#pragma once

#include "cpu/nn/correlation.h"

namespace flambeau::cpu {

/// Whether the processor multiplies matrices of this dtype, and there are enough channels for it.
bool convolves_matrices(const ConvGeometry& geometry, DType dtype);

/// As `correlate`, where convolves_matrices, of dense images.
void correlate_matrices(const Correlation<bfloat16>& task);

}  // namespace flambeau::cpu
