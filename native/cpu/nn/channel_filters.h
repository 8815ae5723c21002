#pragma once

#include "core/backends/instruction_set.h"
#include "core/tensor/tensor.h"
#include "cpu/nn/conv_geometry.h"
#include "cpu/nn/tap_table.h"

// A filter for each channel of channels-last images: vectors of channels. Images are [batch, rows,
// columns, channels], filters [taps, channels], all dense; T is float or double.

namespace flambeau::cpu {

inline bool has_filter_per_channel(const ConvGeometry& g) {
  return g.groups > 1 && g.in_channels == 1 && g.out_channels == 1;
}

/// `bias` may be null.
template <class T>
void filter_channels(const ConvGeometry& geometry, const T* images, const T* filters, const T* bias,
                     T* result);
/// The gradient of the images.
template <class T>
void filter_channels_grad(const ConvGeometry& geometry, const T* grads, const T* filters,
                          T* result);
/// The gradient of the filters, [taps, channels].
template <class T>
Tensor channel_filters_grad(const ConvGeometry& geometry, const T* images, const T* grads);

/// Taps of a row whose results meet neighbours: result x meets place x + first + t of the source
/// through tap t, or, if they are turned, through the t-th from the last.
struct SlidingTaps {
  bool slide, turned;
  int64_t first;
};

/// `rows` and `columns`: for each element of the result those of the source.
template <class T>
struct ChannelFilter {
  int64_t batch, channels, source_rows, source_columns, result_rows, result_columns, row_taps;
  SlidingTaps sliding;
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
