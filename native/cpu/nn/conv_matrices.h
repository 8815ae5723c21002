#pragma once

#include "cpu/nn/correlation.h"

namespace flambeau::cpu {

/// Whether the processor multiplies matrices of this dtype, and there are enough channels for it.
bool convolves_matrices(const ConvGeometry& geometry, DType dtype, int64_t least_inputs = 16);

/// As `correlate`, where convolves_matrices, of dense images; those that are `by_pixels` have one
/// group.
void correlate_matrices(const Correlation<bfloat16>& task);

/// The gradient of filters, where convolves_matrices; all are dense. False, and the result
/// unfinished, for filters of many taps, and where some of it is not finite.
bool try_matrices_weight_grad(const ConvGeometry& geometry, const bfloat16* grad,
                              const bfloat16* input, bfloat16* result);

}  // namespace flambeau::cpu
