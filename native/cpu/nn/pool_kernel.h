#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/nn/pool_geometry.h"

namespace flambeau::cpu {

/// In place of an element's position: the window has none.
inline constexpr int64_t kNoPlace = -1;

/// Pooling of planes [begin, end); compiled once per instruction set (pool_kernel.simd.cpp).
template <class T>
struct PoolKernels {
  /// The largest element of each window and its flat position in the plane; a NaN is the largest.
  /// Minus infinity and kNoPlace for a window without elements.
  void (*max)(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* input, T* result,
              int64_t* indices);
  /// The sum of each window divided by divisors[window].
  void (*average)(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
                  const T* input, T* result);
  /// Each gradient divided by divisors[window], added to the elements of its window.
  void (*spread)(const PoolGeometry& geometry, int64_t begin, int64_t end, const T* divisors,
                 const T* grad, T* result);
};

FLAMBEAU_IN_EACH_SET(template <class T> const PoolKernels<T>& pool_kernels();)

/// The kernels for the processor at hand.
template <class T>
const PoolKernels<T>& pool_kernels() {
  static const PoolKernels<T>& best = FLAMBEAU_PICK(pool_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
