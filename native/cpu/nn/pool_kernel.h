#pragma once

#include <limits>
#include <type_traits>

#include "core/backends/instruction_set.h"
#include "cpu/nn/pool_geometry.h"

namespace flambeau::cpu {

/// In place of an element's position: the window has none.
inline constexpr int64_t kNoPlace = -1;

// Pooling of planes [begin, end), compiled once per instruction set.

/// The largest element of each window and its flat position in the plane; a NaN is the largest.
/// Minus infinity, or the least integer, and kNoPlace for a window without elements.
FLAMBEAU_IN_EACH_SET(template <class T> void largest_and_places(const PoolGeometry& geometry,
                                                                int64_t begin, int64_t end,
                                                                const T* input, T* result,
                                                                int64_t* indices);)
/// The results alone (pool_largest.simd.cpp). Of zeros of both signs either one may be the largest.
FLAMBEAU_IN_EACH_SET(template <class T> void largest_of_windows(const PoolGeometry& geometry,
                                                                int64_t begin, int64_t end,
                                                                const T* input, T* result);)
/// The sum of each window divided by divisors[window].
FLAMBEAU_IN_EACH_SET(template <class T>
                     void average_windows(const PoolGeometry& geometry, int64_t begin, int64_t end,
                                          const T* divisors, const T* input, T* result);)
/// Each gradient divided by divisors[window], added to the elements of its window.
FLAMBEAU_IN_EACH_SET(template <class T>
                     void spread_windows(const PoolGeometry& geometry, int64_t begin, int64_t end,
                                         const T* divisors, const T* grad, T* result);)

/// In place of the largest element of a window that has none.
template <class T>
constexpr T no_element() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}

/// Calls body(constant) with the strides that are worth loops of their own; 0 stands for others.
template <class Body>
void with_stride(int64_t stride, const Body& body) {
  if (stride == 1)
    body(std::integral_constant<int64_t, 1>());
  else if (stride == 2)
    body(std::integral_constant<int64_t, 2>());
  else
    body(std::integral_constant<int64_t, 0>());
}

}  // namespace flambeau::cpu
