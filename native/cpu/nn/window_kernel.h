#pragma once

#include "cpu/nn/conv_kernel.h"

namespace flambeau::cpu {

/// Windows over rows of channels-last pixels: what elements they see lies at the same offsets from
/// where each begins, [rows, columns] of them.
template <class T>
struct WindowGrid {
  int64_t rows, columns;
  int64_t row_step, step;  ///< between the beginnings
  const T* source;
  const int64_t* offsets;  ///< [depth]
};

/// result(row, column, g, k) = bias[g, k] + the sum over p of weights[g, p, k] * what a window of
/// group g sees at p: `channels` elements further than that of the group before it.
template <class T>
struct WindowBlock {
  WindowGrid<T> windows;
  int64_t groups, channels, outputs, depth;
  /// From `pack`, one panel of outputs after the other, or where groups share vectors from
  /// `pack_shared`.
  const T* weights;
  const T* bias;  ///< may be null
  T* result;
  int64_t result_row_step, result_step;  ///< between windows; all outputs follow each other
  int64_t together = 1;                  ///< groups that share vectors
};

/// sums[p, k] += the sum over windows of what each sees at p * grad[its number * grad_step + k].
template <class T>
struct WindowGradBlock {
  WindowGrid<T> windows;
  int64_t outputs, depth;
  const T* grad;
  int64_t grad_step;
  T* sums;  ///< [depth, outputs]
  /// Groups that share vectors: then the outputs, and the sums, are those of all of them.
  int64_t together = 1;
};

/// Compiled once per instruction set (window_kernel.simd.cpp).
template <class T>
struct WindowKernels {
  /// packed[(t * majors + j) * width + i]: tap t, channel j of output i of one panel, whose width
  /// is tile_columns, or that of all outputs where they are fewer.
  void (*pack)(const ConvWeights<T>& weights, int64_t panel, T* packed);
  void (*forward)(const WindowBlock<T>& block);
  void (*add_products)(const WindowGradBlock<T>& block);
  int64_t tile_rows, tile_columns;
  /// How many of so many groups share a vector; 1: none do.
  int64_t (*groups_together)(int64_t groups, int64_t channels, int64_t outputs);
  /// packed[(t * majors + j) * lanes + i]: tap t, channel j of output i of one group.
  void (*pack_shared)(const ConvWeights<T>& weights, T* packed);
};

FLAMBEAU_IN_EACH_SET(template <class T> const WindowKernels<T>& window_kernels();)

/// The kernels for the processor at hand.
template <class T>
const WindowKernels<T>& window_kernels() {
  static const WindowKernels<T>& best = FLAMBEAU_PICK(window_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
