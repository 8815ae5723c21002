#pragma once

#include <cstdint>
#include <type_traits>

#include "core/backends/instruction_set.h"
#include "core/types/half.h"
#include "cpu/linalg/gemm_kernel.h"

namespace flambeau::cpu {

/// What tiles multiply: bfloat16 as pairs that follow each other along the depth.
template <class T>
using ConvPacked = std::conditional_t<std::is_same_v<T, bfloat16>, Bfloat16Pair, T>;
template <class T>
using ConvSum = Sum<ConvPacked<T>>;

/// Positions that follow each other in the source.
struct ConvRun {
  int64_t place, count;
};

/// Part of a convolution as a matrix product whose right factor is never built as a whole: element
/// (p, q) of it is source[offsets[p] + place of q]. Rows are output channels, columns positions.
template <class T>
struct ConvBlock {
  int64_t outputs, depth, positions;
  const ConvPacked<T>* weights;  ///< from pack_weights
  const int64_t* offsets;        ///< [depth]
  const T* source;
  const ConvRun* runs;  ///< all positions, in order; null: position q lies at q (float, double)
  ConvSum<T>* sums;     ///< [outputs, step]
  int64_t step;
  bool in_memory = false;  ///< the source is not a copy that was made just before
};

/// The same for one panel of outputs, whose vectors they fill. A step of the depth is what tiles
/// multiply: the source holds it at every place.
template <class T>
struct LaneBlock {
  int64_t outputs, depth, positions;
  const ConvPacked<T>* weights;  ///< from pack_lanes
  const int64_t* offsets;        ///< [depth]
  const ConvPacked<T>* source;
  const ConvRun* runs;
  ConvSum<T>* sums;  ///< [positions, panel_lanes]
};

/// sums[i, k] += sum over q of source[offsets[i] + places[q]] * grad[k, q]; the gradient's
/// positions are those of one image after the other.
template <class T>
struct ConvWeightBlock {
  int64_t taps, outputs, positions;
  const int64_t* offsets;  ///< [taps]
  const int64_t* places;   ///< [positions]
  int64_t run;             ///< so many places follow each other without a gap, again and again
  const T* source;
  const T* grad;
  int64_t grad_step;
  int64_t image_positions, grad_image_step;  ///< one image, if there are no more than two outputs
  T* sums;                                   ///< [taps, outputs]
};

/// result[k, i] = the sum of sums[i, k] of all parts, or, if they are so, of sums[k, i].
template <class T>
struct ConvWeightSums {
  int64_t taps, outputs, parts, part_step;
  T* sums;  ///< of the first part, which is overwritten
  bool by_outputs;
  T* result;  ///< [outputs, taps]
};

/// The left factor: element (i, (j, t)) at data[i * row + j * major + taps[t]].
template <class T>
struct ConvWeights {
  const T* data;
  int64_t outputs, row, majors, major, tap_count;
  const int64_t* taps;
};

/// Rows of a plane inside zeros: elements [begin, begin + count) of each are data[row * row_step +
/// i * step].
template <class T>
struct SourceRows {
  const T* data;
  int64_t row_step, step;
  int64_t rows, begin, count, pitch;
};

template <class T>
struct ConvKernels {
  void (*pack_weights)(const ConvWeights<T>& weights, int64_t panel, ConvPacked<T>* packed);
  void (*forward)(const ConvBlock<T>& block);
  /// to[row * pitch + j]: zeros around what comes of the source.
  void (*pad_rows)(const SourceRows<T>& rows, T* to);
  /// to[i] = sums[i] + shift, rounded
  void (*finish_row)(const ConvSum<T>* sums, ConvSum<T> shift, int64_t count, T* to);
  int64_t panel_rows;  ///< outputs per packed panel
  int64_t steps;       ///< of the depth per packed element
  /// The same with vectors of outputs (conv_lanes.h).
  void (*pack_lanes)(const ConvWeights<T>& weights, int64_t panel, ConvPacked<T>* packed);
  void (*forward_lanes)(const LaneBlock<T>& block);
  /// to[output * step + position] = sums + bias, which may be null.
  void (*turn_lanes)(const ConvSum<T>* sums, int64_t positions, int64_t outputs, const T* bias,
                     T* to, int64_t step);
  int64_t panel_lanes, vector_lanes;
  /// The same with pairs of these rows and of `next`, of the same layout, or of 0 where it is null.
  void (*pad_pairs)(const SourceRows<T>& rows, const T* next, ConvPacked<T>* to) = nullptr;
  /// The same, without runs, with tiles of fewer outputs and more positions; wide_rows: outputs per
  /// packed panel, 0 where there are too few registers for it.
  void (*pack_wide)(const ConvWeights<T>& weights, int64_t panel, ConvPacked<T>* packed) = nullptr;
  void (*forward_wide)(const ConvBlock<T>& block) = nullptr;
  int64_t wide_rows = 0;
};

template <class T>
struct ConvWeightKernels {
  void (*add_products)(const ConvWeightBlock<T>& block);
  /// For some of the outputs.
  void (*finish)(const ConvWeightSums<T>& call, int64_t first, int64_t last);
};

FLAMBEAU_IN_EACH_SET(template <class T> const ConvKernels<T>& conv_kernels();
                     template <class T> const ConvWeightKernels<T>& conv_weight_kernels();
                     /** Null where the instruction set has no such products. */
                     const ConvKernels<bfloat16>* paired_conv_kernels();)

/// The kernels for the processor at hand; those of bfloat16 only where it multiplies pairs of them
/// (has_paired_products).
template <class T>
const ConvKernels<T>& conv_kernels() {
  static const ConvKernels<T>& best = []() -> const ConvKernels<T>& {
    if constexpr (std::is_same_v<T, bfloat16>)
      return *FLAMBEAU_PICK(paired_conv_kernels)();
    else
      return FLAMBEAU_PICK(conv_kernels<T>)();
  }();
  return best;
}

template <class T>
const ConvWeightKernels<T>& conv_weight_kernels() {
  static const ConvWeightKernels<T>& best = FLAMBEAU_PICK(conv_weight_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
