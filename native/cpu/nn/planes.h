#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/nn/conv_geometry.h"

namespace flambeau::cpu {

/// One plane of the result: one channel under one filter.
template <class T>
struct PlaneFilter {
  const ConvGeometry& geometry;
  /// Rows of `pitch` elements, the border and a vector's width included; with a stride of 2
  /// columns, half a row of even columns, then half a row of odd ones.
  const T* padded;
  int64_t pitch;     ///< even
  const T* weights;  ///< [kernel rows, kernel columns]
  T bias;
  T* result;
};

/// One plane of the source, whose elements stand so many rows and columns apart in the image.
template <class T>
struct PlaneSource {
  const T* data;
  int64_t height, width, row_step, column_step;
};

/// Adds to the gradient of one filter what comes of one plane of the source and of the result.
template <class T>
struct PlaneGrad {
  const ConvGeometry& geometry;
  const T* padded;  ///< as above
  int64_t pitch;
  const T* grad;  ///< of the result, dense
  T* sums;        ///< [kernel rows, kernel columns]
};

template <class T>
struct PlaneKernels {
  void (*pad)(const ConvGeometry& geometry, const PlaneSource<T>& source, int64_t pitch, T* padded);
  void (*filter)(const PlaneFilter<T>& call);
  void (*add_grad)(const PlaneGrad<T>& call);
  int64_t lanes;
};

FLAMBEAU_IN_EACH_SET(template <class T> const PlaneKernels<T>& plane_kernels();)

/// Convolutions whose groups have one input channel; false for others. `bias` may be null.
template <class T>
bool try_planes(const ConvGeometry& geometry, const T* input, const T* weight, const T* bias,
                T* result);

/// The gradient of the input where groups have one channel on both sides: a convolution of the
/// gradient, whose elements stand a stride apart among zeros, with the filter from its last tap to
/// its first.
template <class T>
bool try_planes_grad(const ConvGeometry& geometry, const T* grad, const T* weight, T* result);

/// The gradient of the filters where groups have one channel on both sides, and there are groups
/// for all threads.
template <class T>
bool try_planes_weight_grad(const ConvGeometry& geometry, const T* grad, const T* input, T* result);

}  // namespace flambeau::cpu
