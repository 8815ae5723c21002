#include "cpu/lapack/blocks.h"

#include "cpu/lapack/small_factors.h"

namespace flambeau::cpu::lapack {
namespace {

constexpr int64_t kWorth = 200'000;  // multiplications that pay for another thread

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

}  // namespace

template <class T>
void solve_triangle(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  const int64_t work = std::max<int64_t>(1, a.rows * a.rows / 2);
  parallel_for(0, b.columns, std::max<int64_t>(1, kWorth / work), [&](int64_t begin, int64_t end) {
    solve_few_columns(a, part(b, 0, begin, b.rows, end - begin), is_upper, is_unit);
  });
}

template <class T>
void solve_factored(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& b) {
  exchange(b, swaps, factors.rows);
  solve_triangle(factors, b, false, true);
  solve_triangle(factors, b, true, false);
}

#define FLAMBEAU_BLOCKS(T)                                                            \
  template void solve_triangle(const Matrix<const T>&, const Matrix<T>&, bool, bool); \
  template void solve_factored(const Matrix<const T>&, const int*, const Matrix<T>&);
FLAMBEAU_BLOCKS(float)
FLAMBEAU_BLOCKS(double)
FLAMBEAU_BLOCKS(complex<float>)
FLAMBEAU_BLOCKS(complex<double>)
#undef FLAMBEAU_BLOCKS

}  // namespace flambeau::cpu::lapack
