#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/nn/conv_geometry.h"

namespace flambeau::cpu {

/// One plane of the result: one channel under one filter.
template <class T>
struct PlaneFilter {
  const ConvGeometry& geometry;
  const T* padded;  ///< rows of `pitch` elements, the border and a vector's width included
  int64_t pitch;
  const T* weights;  ///< [kernel rows, kernel columns]
  T bias;
  T* result;
};

template <class T>
struct PlaneKernels {
  void (*pad)(const ConvGeometry& geometry, const T* plane, int64_t pitch, T* padded);
  void (*filter)(const PlaneFilter<T>& call);
  int64_t lanes;
};

FLAMBEAU_IN_EACH_SET(template <class T> const PlaneKernels<T>& plane_kernels();)

/// Convolutions whose groups have one input channel; false for others. `bias` may be null.
template <class T>
bool try_planes(const ConvGeometry& geometry, const T* input, const T* weight, const T* bias,
                T* result);

}  // namespace flambeau::cpu
