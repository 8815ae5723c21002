#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"
#include "core/tensor/tensor.h"

namespace flambeau::cpu {

/// Elements [samples, channels, length, inner], tables [samples, taps, points] that the channels
/// and the inner elements of a sample share, sums [samples, channels, points, inner].
struct TapGeometry {
  int64_t samples, channels, length, points, taps, inner;
};

/// Compiled once per instruction set (taps_kernel.simd.cpp); all memory is dense.
template <class T>
struct TapKernels {
  /// The sums of points [begin, end) of samples that follow each other.
  void (*sums)(const TapGeometry& geometry, int64_t begin, int64_t end, const T* input,
               const int64_t* places, const T* weights, T* result);
  /// The same where channels are the inner elements, and the result has points as its inner ones.
  void (*turned_sums)(const TapGeometry& geometry, int64_t begin, int64_t end, const T* input,
                      const int64_t* places, const T* weights, T* result);
  /// Sets the inner elements [first, last) of planes [begin, end) to the weighted gradients that
  /// are sent there.
  void (*spread)(const TapGeometry& geometry, int64_t begin, int64_t end, int64_t first,
                 int64_t last, const T* grad, const int64_t* places, const T* weights, T* result);
  /// The gradients of the weights of such points.
  void (*products)(const TapGeometry& geometry, int64_t begin, int64_t end, const T* grad,
                   const T* input, const int64_t* places, T* result);
};

FLAMBEAU_IN_EACH_SET(template <class T> const TapKernels<T>& tap_kernels();)

/// The kernels for the processor at hand.
template <class T>
const TapKernels<T>& tap_kernels() {
  static const TapKernels<T>& best = FLAMBEAU_PICK(tap_kernels<T>)();
  return best;
}

/// Places as dense integers, each of which is checked once: the loops rely on them.
Tensor checked_places(const Tensor& places, int64_t length, const char* op);

}  // namespace flambeau::cpu
