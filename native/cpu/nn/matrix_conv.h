#pragma once

#include "cpu/nn/conv_kernel.h"

// Convolutions of bfloat16 in registers that hold matrices (AMX): each step of the depth is a tap
// of as many pairs of channels as a register has columns.

namespace flambeau::cpu {

inline constexpr int64_t kMatrixPairs = 16;    // pairs of channels of a step
inline constexpr int64_t kMatrixOutputs = 32;  // of a panel
inline constexpr int64_t kMatrixTaps = 32;     // of filters, at most, for gradients of them
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

/// The same of pixels whose channels lie next to each other, as their results do. Rows of results
/// lie as far apart in the source as `pitch` pixels do, and have `columns` of these each.
struct MatrixPixelBlock {
  int64_t steps, rows, columns, pitch;
  const Bfloat16Pair* weights;  ///< from pack_turned
  const int64_t* offsets;
  const bfloat16* source;
  int64_t pixel;           ///< elements of the source
  int64_t outputs;         ///< of the panel
  const bfloat16* bias;    ///< of them; may be null
  bfloat16* result;        ///< of the first of them
  int64_t row_step, step;  ///< from row to row of results, and from one to the next
};

/// sums[tap] += products over positions of 32 channels at that tap with gradients of 32 outputs. A
/// step is of 32 positions that follow each other in the channels' planes.
struct MatrixGradBlock {
  int64_t steps, taps;
  const int64_t* places;   ///< [steps]
  const int64_t* offsets;  ///< [taps]
  const bfloat16* source;
  int64_t channel_step;
  const Bfloat16Pair* grads;  ///< from pack_grads
  float* sums;                ///< [taps, channels, outputs]
  bool adds;                  ///< to what the sums are; else they are set
};

/// What becomes of sums of all positions: the gradient [outputs, channels, taps] of some filters.
struct MatrixGradResult {
  int64_t channels, outputs, taps;
  const float* sums;
  bfloat16* result;
  int64_t row;  ///< from output to output
};

struct MatrixConvKernels {
  /// packed: [channels / 32, taps, outputs, pairs], zeros where there are none.
  void (*pack)(const ConvWeights<bfloat16>& weights, int64_t panel, Bfloat16Pair* packed);
  void (*forward)(const MatrixConvBlock& block);
  /// packed: [channels / 32, taps, 2, pairs, 16 outputs].
  void (*pack_turned)(const ConvWeights<bfloat16>& weights, int64_t panel, Bfloat16Pair* packed);
  /// to[i * pixel + j] = from[i * step + j] for j < width, and 0 up to `pixel`.
  void (*copy_pixels)(const bfloat16* from, int64_t step, int64_t count, int64_t width,
                      bfloat16* to, int64_t pixel);
  void (*forward_pixels)(const MatrixPixelBlock& block);
  /// to[i * step] = sums[i] + shift, rounded.
  void (*finish_row)(const float* sums, float shift, int64_t count, bfloat16* to, int64_t step);
  /// [steps, 2, pairs of positions, 16 outputs] of lines of 32 * steps positions.
  void (*pack_grads)(const bfloat16* lines, int64_t line, int64_t outputs, int64_t steps,
                     Bfloat16Pair* packed);
  void (*add_products)(const MatrixGradBlock& block);
  /// False where some of the sums are not finite.
  bool (*finish_grads)(const MatrixGradResult& call);
};

FLAMBEAU_IN_EACH_SET(/** Null where the instruction set has no such products. */
                     const MatrixConvKernels* find_matrix_conv_kernels();)

/// Where has_matrix_products and has_paired_products.
inline const MatrixConvKernels& matrix_conv_kernels() {
  static const MatrixConvKernels& best = *FLAMBEAU_PICK(find_matrix_conv_kernels)();
  return best;
}

}  // namespace flambeau::cpu
