#pragma once

#include "cpu/math.h"
#include "cpu/rows.h"

#include "core/math/exponentials.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// e^x of distances to the largest one, which masks make infinite.
FLAMBEAU_INLINE float exponential(float x) { return math::exp(x); }
FLAMBEAU_INLINE double exponential(double x) { return math::detail::wide_exp(x); }

/// Sum of e^(x - largest), which is at most 1. The last lanes of a short row overlap those before,
/// where they count nothing.
template <class C>
C sum_exponentials(const C* x, int64_t n, C largest) {
  constexpr int64_t kLanes = kFewLanes<C>;
  const int64_t rest = n % kLanes;
  if (n < kLanes || n >= 64 * kLanes || rest == 0)
    return sum_terms<C>(n, [=](int64_t i) { return exponential(x[i] - largest); });
  alignas(64) C lane[kLanes] = {}, counts[2 * kLanes] = {};
  std::fill_n(counts + kLanes, kLanes, C(1));
  for (int64_t i = 0; i < n - rest; i += kLanes) {
#pragma omp simd
    for (int64_t j = 0; j < kLanes; ++j) lane[j] += exponential(x[i + j] - largest);
  }
#pragma omp simd
  for (int64_t j = 0; j < kLanes; ++j)
    lane[j] += counts[rest + j] * exponential(x[n - kLanes + j] - largest);
  add_halves<kLanes / 2>(lane);
  return lane[0];
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
