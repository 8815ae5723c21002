#pragma once

#include <bit>

#include "cpu/math.h"
#include "cpu/rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// e^x of distances to the largest one, which masks make infinite. Those are set apart: processors
/// take long to round a product to 0.
FLAMBEAU_INLINE float exponential(float x) {
  const bool vanishes = x < -104.f;
  const float power = math::exp(vanishes ? 0.f : x);
  return vanishes ? 0.f : power;
}
/// Within 1 ULP. Vectors of glibc take what is below -708 one by one, at 40 times the cost.
FLAMBEAU_INLINE double exponential(double x) {
  constexpr double kRounder = 0x1.8p52;  // keeps an integer in the low bits
  const bool vanishes = x < -746.;
  x = vanishes ? -746. : x > 710. ? 710. : x;  // a NaN passes
  const double shifted = math::detail::multiply_add(x, 1.4426950408889634, kRounder);
  const double n = shifted - kRounder;
  const double r = math::detail::multiply_add(n, -7.440617110012397e-11,
                                              math::detail::multiply_add(n, -0x1.62e42fefp-1, x));
  // A minimax polynomial for (e^r - 1 - r) / r^2: relative error 4e-18 of e^r on |r| < 0.3473.
  const double rest = math::detail::polynomial(
      r, 2.4999854689969734e-08, 2.763052339124291e-07, 2.7557588431264318e-06,
      2.4801492388553123e-05, 1.9841269502731724e-04, 1.3888888944248886e-03, 8.333333333496926e-03,
      4.166666666652811e-02, 0.16666666666666408, 0.5000000000000011);
  const double mantissa = math::detail::polynomial(r, rest, 1., 1.);
  // 2^n in two factors, so that results below the normal range are rounded once.
  const bool grows = x > 0;
  const uint64_t bias = grows ? 1022 : 1023 + 600;
  const uint64_t power = (std::bit_cast<uint64_t>(shifted) + bias) << 52;
  return mantissa * std::bit_cast<double>(power) * (grows ? 2. : vanishes ? 0. : 0x1p-600);
}

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
