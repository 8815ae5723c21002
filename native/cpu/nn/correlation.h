#pragma once

#include <vector>

#include "cpu/nn/conv_geometry.h"
#include "cpu/nn/conv_kernel.h"

namespace flambeau::cpu {

/// What the forward pass and each phase of the input gradient have in common:
/// result[n, k, i, j] = bias[k] + sum over c, t of weights[k, c, t] * planes[n, c, i + y(t), j +
/// x(t)].
template <class T>
struct Correlation {
  int64_t batch = 0, groups = 1;
  PaddedPlanes planes;  ///< of one group of one image of the source; height and pitch are set here
  std::vector<int64_t> tap_rows, tap_columns;  ///< in elements of the padded image
  ConvWeights<T> weights;                      ///< of the first group; taps point to their offsets
  int64_t weight_group_step = 0;
  int64_t rows = 0, columns = 0;  ///< of the result
  const T* source = nullptr;      ///< dense; a group after the other, an image after the other
  T* result = nullptr;
  int64_t channel_step = 0, row_step = 0, column_step = 1;  ///< of the result
  int64_t image_step = 0;                                   ///< of the result, all its groups
  const T* bias = nullptr;                                  ///< of all groups
  /// Images that are layers of volumes: so many of each, and how far apart volumes, layers and
  /// groups of their channels lie. The source is as said above where there are 0.
  int64_t layers = 0, volume_step = 0, layer_step = 0, group_step = 0;
  int64_t result_volume_step = 0;  ///< image_step is that of layers
  /// Source and result are channels-last, and steps of rows and columns count pixels: for
  /// try_winograd, of one group, and correlate_windows.
  bool by_pixels = false;
};

/// Several threads share images, groups and blocks of rows. T is float, double, or, where
/// convolves_pairs, bfloat16.
template <class T>
void correlate(Correlation<T> task);

/// Whether the processor multiplies pairs of this dtype, and there are enough channels for it.
bool convolves_pairs(const ConvGeometry& geometry, DType dtype);

/// The same for 3x3 filters and enough channels, faster; false for others, and where the result is
/// not finite: it is unfinished then.
bool try_winograd(const Correlation<float>& task);

/// The same for 5x5 filters, and for those that are twice as wide as their strides.
bool try_winograd_pieces(const Correlation<float>& task);

/// The same for the gradient of the input of the latter, which is also their transpose.
bool try_winograd_spread(const ConvGeometry& geometry, const float* grad, const float* weight,
                         float* result);

}  // namespace flambeau::cpu
