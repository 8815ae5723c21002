#pragma once

#include <vector>

#include "core/backends/instruction_set.h"
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

/// Which elements of a line of pixels each of another meets, through which taps.
struct TapTable {
  struct Meeting {
    int64_t tap, place;
  };
  std::vector<Meeting> meetings;
  std::vector<int64_t> begins;  ///< of each element, and the end
};

/// A filter for each channel. Images are [batch, rows, columns, channels], weights
/// [taps of a row after those of another, channels]. `rows` and `columns`: for each element of the
/// result those of the source.
template <class T>
struct ChannelFilter {
  int64_t batch, channels, source_rows, source_columns, result_rows, result_columns, row_taps;
  const TapTable *rows, *columns;
  const T *source, *weights, *bias;
  T* result;
};

/// weights[tap, c] += sum over pixels of source * grad, over rows [begin, end) of all images.
template <class T>
struct ChannelFilterGrad {
  const ConvGeometry* geometry;
  int64_t channels;
  const T *source, *grad;
  T* weights;
};

template <class T>
struct ChannelFilterKernels {
  /// Of rows [begin, end) of the results of all images.
  void (*filter)(const ChannelFilter<T>& call, int64_t begin, int64_t end);
  void (*weights)(const ChannelFilterGrad<T>& call, int64_t begin, int64_t end);
};

FLAMBEAU_IN_EACH_SET(template <class T> const ChannelFilterKernels<T>& channel_filter_kernels();)

template <class T>
const ChannelFilterKernels<T>& channel_filter_kernels() {
  static const ChannelFilterKernels<T>& best = FLAMBEAU_PICK(channel_filter_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
