#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/lapack/matrices.h"

/// Factors of small matrices, done before LAPACK has begun: it may wake threads first, whatever the
/// size. Matrices lie by columns, as LAPACK has them.
namespace flambeau::cpu::lapack {

/// Up to so many rows and columns.
inline constexpr int64_t kSmall = 16;

/// What LAPACK chooses pivots by.
template <class T>
Real<T> size_of(T value) {
  if constexpr (kIsComplex<T>) {
    return std::abs(value.re) + std::abs(value.im);
  } else {
    return std::abs(value);
  }
}

/// What getrf does, column by column. Returns the number of the first pivot that is 0, from 1.
template <class T>
int factor_small(int64_t m, int64_t n, T* a, int64_t step, int* swaps) {
  int failed = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    T* const column = a + k * step;
    int64_t pivot = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (size_of(column[i]) > size_of(column[pivot])) pivot = i;
    swaps[k] = static_cast<int>(pivot + 1);
    if (column[pivot] == T(0)) {
      if (failed == 0) failed = static_cast<int>(k + 1);
      continue;
    }
    if (pivot != k)
      for (int64_t j = 0; j < n; ++j) std::swap(a[k + j * step], a[pivot + j * step]);
    for (int64_t i = k + 1; i < m; ++i) column[i] = column[i] / column[k];
    for (int64_t j = k + 1; j < n; ++j) {
      T* const other = a + j * step;
      const T factor = other[k];
      for (int64_t i = k + 1; i < m; ++i) other[i] = other[i] - column[i] * factor;
    }
  }
  return failed;
}

/// What getrs does: solves with the factors of n rows and columns for one right-hand side.
template <class T>
void solve_small(int64_t n, const T* factors, int64_t step, const int* swaps, T* x) {
  for (int64_t k = 0; k < n; ++k) std::swap(x[k], x[swaps[k] - 1]);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = k + 1; i < n; ++i) x[i] = x[i] - factors[i + k * step] * x[k];
  for (int64_t k = n - 1; k >= 0; --k) {
    x[k] = x[k] / factors[k + k * step];
    for (int64_t i = 0; i < k; ++i) x[i] = x[i] - factors[i + k * step] * x[k];
  }
}

}  // namespace flambeau::cpu::lapack
