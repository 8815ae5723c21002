#include "cpu/lapack/blocks.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "cpu/lapack/small_triangles.h"

namespace flambeau::cpu::lapack {
namespace {

constexpr int64_t kWorth = 200'000;  // multiplications that pay for another thread
constexpr int64_t kBeside = 8;       // right-hand sides that are not shared out

template <class T>
void solve_columns(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  const int64_t n = a.rows;
  if (n <= triangle_rows<T>(b.columns))
    return substitute<T>({is_upper, is_unit, n, b.columns, a.data, a.row_step, a.column_step,
                          b.data, b.row_step, b.column_step});
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

/// A single right-hand side is dense, so that products read the triangle in order.
template <class T>
void solve_dense(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  if (b.columns > 1 || b.rows <= kTriangle || b.row_step == 1)
    return solve_columns(a, b, is_upper, is_unit);
  Scratch<T> scratch;
  const Matrix<T> dense{scratch.of(b.rows), b.rows, 1, 1, b.rows};
  copy<T>(constant(b), dense);
  solve_columns(a, dense, is_upper, is_unit);
  copy<T>(constant(dense), b);
}

}  // namespace

template <class T>
void solve_triangle(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit) {
  const int64_t work = std::max<int64_t>(1, a.rows * a.rows / 2);
  parallel_for(0, b.columns, std::max(kBeside, kWorth / work), [&](int64_t begin, int64_t end) {
    solve_dense(a, part(b, 0, begin, b.rows, end - begin), is_upper, is_unit);
  });
}

template <class T>
void solve_factored(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& b) {
  exchange(b, swaps, factors.rows);
  solve_triangle(factors, b, false, true);
  solve_triangle(factors, b, true, false);
}

template <class T>
void invert_factored(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& inverse) {
  constexpr int64_t kWidth = 64;
  const int64_t n = factors.rows, blocks = (n + kWidth - 1) / kWidth;
  std::vector<int64_t> stood(static_cast<size_t>(n));  // where rows stood before the exchanges
  std::iota(stood.begin(), stood.end(), int64_t{0});
  for (int64_t k = 0; k < n; ++k)
    std::swap(stood[static_cast<size_t>(k)], stood[static_cast<size_t>(swaps[k] - 1)]);
  // A column of the inverse of L is zero above the diagonal: the first ones take longest.
  std::atomic<int64_t> next = 0;
  const int64_t threads = n * n * n < kWorth ? 1 : std::min<int64_t>(num_threads(), blocks);
  parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    const Owned<T> memory(std::min(n, kWidth), n);
    for (int64_t block = next++; block < blocks; block = next++) {
      const int64_t first = block * kWidth, count = std::min(kWidth, n - first);
      const Matrix<T> found{memory.all().data, n, count, count, 1};
      std::fill_n(found.data, n * count, T(0));
      for (int64_t j = 0; j < count; ++j) found(first + j, j) = T(1);
      const int64_t rest = n - first;
      solve_columns(part(factors, first, first, rest, rest), part(found, first, 0, rest, count),
                    false, true);
      solve_columns(factors, found, true, false);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < count; ++j)
          inverse(i, stood[static_cast<size_t>(first + j)]) = found(i, j);
    }
  });
}

#define FLAMBEAU_BLOCKS(T)                                                            \
  template void solve_triangle(const Matrix<const T>&, const Matrix<T>&, bool, bool); \
  template void solve_factored(const Matrix<const T>&, const int*, const Matrix<T>&); \
  template void invert_factored(const Matrix<const T>&, const int*, const Matrix<T>&);
FLAMBEAU_BLOCKS(float)
FLAMBEAU_BLOCKS(double)
FLAMBEAU_BLOCKS(complex<float>)
FLAMBEAU_BLOCKS(complex<double>)
#undef FLAMBEAU_BLOCKS

}  // namespace flambeau::cpu::lapack
