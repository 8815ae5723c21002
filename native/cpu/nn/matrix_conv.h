#pragma once

#include "cpu/nn/conv_kernel.h"

// Convolutions of bfloat16 in registers that hold matrices (AMX): each step of the depth is a tap
// of as many pairs of channels as a register has columns.

namespace flambeau::cpu {

inline constexpr int64_t kMatrixPairs = 16;    // pairs of channels of a step
inline constexpr int64_t kMatrixOutputs = 32;  // of a panel
inline constexpr int64_t kMatrixOverrun = 32;  // positions that may be read behind the last one

/// A panel of outputs at positions that follow each other in planes of pairs of channels.
struct MatrixConvBlock {
  int64_t steps, positions;
  const Bfloat16Pair* weights;  ///< from pack
  const int64_t* offsets;       ///< [steps], of the first pair of each
  const Bfloat16Pair* source;
  int64_t pair_step;  ///< from a pair of channels to the next
  float* sums;        ///< [kMatrixOutputs, step]
  int64_t step;       ///< positions, rounded up to whole registers at least
};

struct MatrixConvKernels {
  /// packed: [channels / 32, taps, outputs, pairs], zeros where there are none.
  void (*pack)(const ConvWeights<bfloat16>& weights, int64_t panel, Bfloat16Pair* packed);
  void (*forward)(const MatrixConvBlock& block);
  /// to[i] = sums[i] + shift, rounded.
  void (*finish_row)(const float* sums, float shift, int64_t count, bfloat16* to);
};

FLAMBEAU_IN_EACH_SET(/** Null where the instruction set has no such products. */
                     const MatrixConvKernels* matrix_conv_kernels();)

}  // namespace flambeau::cpu
