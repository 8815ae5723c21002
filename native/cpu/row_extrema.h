#pragma once

/// The largest element of a row.

#include "cpu/math.h"
#include "cpu/rows.h"

#include "core/math/extrema.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Leaves the largest of 2 * width lanes in lane 0.
template <int64_t width, class C>
FLAMBEAU_INLINE void take_larger_halves(C* lane) {
  if constexpr (width > 0) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) lane[j] = math::maximum(lane[j], lane[j + width]);
    take_larger_halves<width / 2>(lane);
  }
}

/// The largest of at least `lanes` elements; the last set of them overlaps the one before.
template <int64_t lanes, class C>
FLAMBEAU_INLINE C max_in_lanes(const C* x, int64_t count) {
  C lane[lanes];
  for (int64_t j = 0; j < lanes; ++j) lane[j] = x[j];
  for (int64_t i = lanes; i < count; i += lanes) {
    const C* const next = x + std::min(i, count - lanes);
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) lane[j] = math::maximum(lane[j], next[j]);
  }
  take_larger_halves<lanes / 2>(lane);
  return lane[0];
}

/// The largest of count > 0 elements; NaN if there is one.
template <class C>
FLAMBEAU_INLINE C row_max(const C* x, int64_t count) {
  if (count >= 4 * kFewLanes<C>) return max_in_lanes<4 * kFewLanes<C>>(x, count);
  if (count >= kFewLanes<C>) return max_in_lanes<kFewLanes<C>>(x, count);
  C result = x[0];
  for (int64_t i = 1; i < count; ++i) result = math::maximum(result, x[i]);
  return result;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
