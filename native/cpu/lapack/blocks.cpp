#include "cpu/lapack/blocks.h"

#include "cpu/lapack/small_factors.h"

namespace flambeau::cpu::lapack {
namespace {

/// Multiplications, and exchanges of elements, that pay for another thread.
constexpr int64_t kWorth = 200'000, kWorthExchanges = 20'000;

template <class T>
void solve_columns(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  const int64_t n = a.rows;
  if (n <= kTriangle)
    return small_factors<T>().substitute({is_upper, is_unit, n, b.columns, a.data, a.row_step,
                                          a.column_step, b.data, b.row_step, b.column_step});
  const int64_t half = half_of(n, kTriangle), rest = n - half;
  const Matrix<const T> top = part(a, 0, 0, half, half), bottom = part(a, half, half, rest, rest);
  const Matrix<T> above = part(b, 0, 0, half, b.columns), below = part(b, half, 0, rest, b.columns);
  if (is_upper) {
    solve_columns(bottom, below, is_upper, is_unit);
    multiply(above, T(-1), part(a, 0, half, half, rest), constant(below), T(1));
    solve_columns(top, above, is_upper, is_unit);
  } else {
    solve_columns(top, above, is_upper, is_unit);
    multiply(below, T(-1), part(a, half, 0, rest, half), constant(above), T(1));
    solve_columns(bottom, below, is_upper, is_unit);
  }
}

/// Exchanges row k with row swaps[k], one after the other.
template <class T>
void exchange(const Matrix<T>& a, const int* swaps, int64_t count) {
  const int64_t grain = std::max<int64_t>(1, kWorthExchanges / std::max<int64_t>(1, count));
  parallel_for(0, a.columns, grain, [&](int64_t begin, int64_t end) {
    // Along what is dense.
    if (a.column_step == 1) {
      for (int64_t k = 0; k < count; ++k)
        if (swaps[k] != k + 1)
          std::swap_ranges(&a(k, begin), &a(k, begin) + (end - begin), &a(swaps[k] - 1, begin));
      return;
    }
    const int64_t step = a.row_step;
    for (int64_t j = begin; j < end; ++j) {
      T* const column = &a(0, j);
      for (int64_t k = 0; k < count; ++k)
        if (swaps[k] != k + 1) std::swap(column[k * step], column[(swaps[k] - 1) * step]);
    }
  });
}

/// Few right-hand sides one below the other, so that products read the triangle in order.
template <class T>
void solve_few_columns(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  if (b.columns > kFewSides || b.rows <= kTriangle || b.row_step == 1)
    return solve_columns(a, b, is_upper, is_unit);
  Scratch<T> scratch;
  const Matrix<T> dense{scratch.of(b.rows * b.columns), b.rows, b.columns, 1, b.rows};
  copy<T>(constant(b), dense);
  solve_columns(a, dense, is_upper, is_unit);
  copy<T>(constant(dense), b);
}

/// Few columns.
template <class T>
int factor_panel(const Matrix<T>& a, int* swaps) {
  if (a.is_by_columns())
    return small_factors<T>().factor(a.rows, a.columns, a.data, a.column_step, swaps);
  // An odd number of cache lines apart, columns do not share places in the cache.
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t step = ((a.rows + kLine - 1) / kLine | 1) * kLine;
  Scratch<T> scratch;
  const Matrix<T> panel{scratch.of(step * a.columns), a.rows, a.columns, 1, step};
  copy<T>(constant(a), panel);
  const int failed = small_factors<T>().factor(a.rows, a.columns, panel.data, step, swaps);
  copy<T>(constant(panel), a);
  return failed;
}

}  // namespace

template <class T>
void solve_triangle(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  const int64_t work = std::max<int64_t>(1, a.rows * a.rows / 2);
  parallel_for(0, b.columns, std::max<int64_t>(1, kWorth / work), [&](int64_t begin, int64_t end) {
    solve_few_columns(a, part(b, 0, begin, b.rows, end - begin), is_upper, is_unit);
  });
}

template <class T>
int factor(const Matrix<T>& a, int* swaps) {
  const int64_t m = a.rows, n = a.columns, least = std::min(m, n);
  if (least == 0) return 0;
  if (n <= kPanel) return factor_panel(a, swaps);
  const int64_t half = least <= kPanel ? least : half_of(least, kPanel), rest = n - half;
  const Matrix<T> left = part(a, 0, 0, m, half), right = part(a, 0, half, m, rest);
  const Matrix<T> above = part(right, 0, 0, half, rest);
  const Matrix<T> below = part(right, half, 0, m - half, rest);
  const Matrix<T> beside = part(left, half, 0, m - half, half);
  const int failed = factor(left, swaps);
  exchange(right, swaps, half);
  solve_triangle(constant(part(left, 0, 0, half, half)), above, false, true);
  multiply(below, T(-1), constant(beside), constant(above), T(1));
  const int failed_below = factor(below, swaps + half);
  exchange(beside, swaps + half, least - half);
  for (int64_t k = half; k < least; ++k) swaps[k] += static_cast<int>(half);
  if (failed != 0 || failed_below == 0) return failed;
  return failed_below + static_cast<int>(half);
}

template <class T>
void solve_factored(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& b) {
  exchange(b, swaps, factors.rows);
  solve_triangle(factors, b, false, true);
  solve_triangle(factors, b, true, false);
}

#define FLAMBEAU_BLOCKS(T)                                                            \
  template void solve_triangle(const Matrix<const T>&, const Matrix<T>&, bool, bool); \
  template int factor(const Matrix<T>&, int*);                                        \
  template void solve_factored(const Matrix<const T>&, const int*, const Matrix<T>&);
FLAMBEAU_BLOCKS(float)
FLAMBEAU_BLOCKS(double)
FLAMBEAU_BLOCKS(complex<float>)
FLAMBEAU_BLOCKS(complex<double>)
#undef FLAMBEAU_BLOCKS

}  // namespace flambeau::cpu::lapack
