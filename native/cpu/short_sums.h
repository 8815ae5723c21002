#pragma once

#include <algorithm>
#include <cstdint>

/// Sums of many rows, by way of sums of a few: errors grow with the number of additions to one
/// total. Include only from *.simd.cpp files.
namespace flambeau::cpu::FLAMBEAU_ISA {

/// Leaves the sum of `count` rows of `width` elements in `to`; add(target, begin, end) adds rows to
/// a target. `part` has room for one row.
template <class T, class Add>
void sum_in_parts(T* to, int64_t count, int64_t width, T* part, const Add& add) {
  constexpr int64_t kTogether = 64;
  std::fill_n(to, width, T(0));
  if (count <= kTogether) return add(to, int64_t{0}, count);
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    std::fill_n(part, width, T(0));
    add(part, begin, std::min(count, begin + kTogether));
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) to[i] += part[i];
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
