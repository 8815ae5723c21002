#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/lapack/matrices.h"

namespace flambeau::cpu::lapack {

/// Divides a matrix, or what is on and below its diagonal, by a power of two, the exponent of which
/// is returned, where squares of its elements would vanish or overflow. It lies by columns.
template <class T>
int scale(const Matrix<T>& matrix, bool lower) {
  constexpr int64_t parts = sizeof(T) / sizeof(Real<T>);
  const auto for_columns = [&](const auto& body) {
    for (int64_t j = 0; j < matrix.columns; ++j) {
      const int64_t first = lower ? j : 0;
      body(reinterpret_cast<Real<T>*>(&matrix(first, j)), (matrix.rows - first) * parts);
    }
  };
  Real<T> largest = 0;
  for_columns([&](const Real<T>* numbers, int64_t count) {
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(numbers[i]));
  });
  if (largest == 0 || !std::isfinite(largest)) return 0;
  constexpr int kMost = std::numeric_limits<Real<T>>::max_exponent * 3 / 8;
  const int exponent = std::ilogb(largest);
  if (std::abs(exponent) <= kMost) return 0;
  for_columns([&](Real<T>* numbers, int64_t count) {
    for (int64_t i = 0; i < count; ++i) numbers[i] = std::ldexp(numbers[i], -exponent);
  });
  return exponent;
}

}  // namespace flambeau::cpu::lapack
