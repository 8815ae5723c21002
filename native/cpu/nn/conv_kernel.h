#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// Part of a convolution as a matrix product whose right factor is never built: element (p, q) of
/// it is source[offsets[p] + q]. Rows are output channels, columns are positions q of the padded
/// plane (the few positions between rows of the image are computed too, and dropped).
template <class T>
struct ConvBlock {
  int64_t outputs, depth, positions;
  const T* weights;        ///< from pack_weights
  const int64_t* offsets;  ///< [depth]
  const T* source;
  T* sums;  ///< [outputs, step]
  int64_t step;
};

/// sums[i, k] += sum over q of source[offsets[i] + places[q]] * grad[k, q].
template <class T>
struct ConvWeightBlock {
  int64_t taps, outputs, positions;
  const int64_t* offsets;  ///< [taps]
  const int64_t* places;   ///< [positions]
  int64_t run;             ///< so many places follow each other without a gap, again and again
  const T* source;
  const T* grad;
  int64_t grad_step;
  T* sums;  ///< [taps, outputs]
};

/// The left factor: element (i, (j, t)) at data[i * row + j * major + taps[t]].
template <class T>
struct ConvWeights {
  const T* data;
  int64_t outputs, row, majors, major, tap_count;
  const int64_t* taps;
};

template <class T>
struct ConvKernels {
  void (*pack_weights)(const ConvWeights<T>& weights, int64_t panel, T* packed);
  void (*forward)(const ConvBlock<T>& block);
  void (*weight)(const ConvWeightBlock<T>& block);
  /// to[i] = from[i * step]
  void (*copy_row)(const T* from, int64_t step, int64_t count, T* to);
  int64_t panel_rows;  ///< outputs per packed panel
};

#define FLAMBEAU_DECLARE_CONV(ISA)      \
  namespace ISA {                       \
  template <class T>                    \
  const ConvKernels<T>& conv_kernels(); \
  }
FLAMBEAU_DECLARE_CONV(baseline)
FLAMBEAU_DECLARE_CONV(avx2)
FLAMBEAU_DECLARE_CONV(avx512)
#undef FLAMBEAU_DECLARE_CONV

/// The kernels for the processor at hand.
template <class T>
const ConvKernels<T>& conv_kernels() {
  static const ConvKernels<T>& best =
      pick(&baseline::conv_kernels<T>, &avx2::conv_kernels<T>, &avx512::conv_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
