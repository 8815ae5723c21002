#include <algorithm>
#include <atomic>

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/small_factors.h"

namespace flambeau::cpu::lapack {
namespace {

constexpr int64_t kWorthExchanges = 20'000;  // of elements, that pay for another thread

/// Of two different rows.
template <class T>
void exchange_lines(T* __restrict one, T* __restrict other, int64_t count) {
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    const T element = one[j];
    one[j] = other[j];
    other[j] = element;
  }
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

/// By halves of the columns, each of whose products has all threads.
template <class T>
int factor_halves(const Matrix<T>& a, int* swaps) {
  const int64_t m = a.rows, n = a.columns, least = std::min(m, n);
  if (least == 0) return 0;
  if (n <= kPanel) return factor_panel(a, swaps);
  const int64_t half = least <= kPanel ? least : half_of(least, kPanel), rest = n - half;
  const Matrix<T> left = part(a, 0, 0, m, half), right = part(a, 0, half, m, rest);
  const Matrix<T> above = part(right, 0, 0, half, rest);
  const Matrix<T> below = part(right, half, 0, m - half, rest);
  const Matrix<T> beside = part(left, half, 0, m - half, half);
  const int failed = factor_halves(left, swaps);
  exchange(right, swaps, half);
  solve_triangle(constant(part(left, 0, 0, half, half)), above, false, true);
  multiply(below, T(-1), constant(beside), constant(above), T(1));
  const int failed_below = factor_halves(below, swaps + half);
  exchange(beside, swaps + half, least - half);
  for (int64_t k = half; k < least; ++k) swaps[k] += static_cast<int>(half);
  if (failed != 0 || failed_below == 0) return failed;
  return failed_below + static_cast<int>(half);
}

/// Blocks of columns, which threads take one by one: of each step the first is the next panel,
/// which is factored while the others are still brought up to date.
template <class T>
class Ahead {
 public:
  Ahead(const Matrix<T>& a, int* swaps, int64_t width)
      : a_(a), least_(std::min(a.rows, a.columns)), width_(width), swaps_(swaps) {}

  int run() {
    factor_block(0);
    const int64_t steps = (least_ + width_ - 1) / width_;
    const int64_t blocks = (a_.columns + width_ - 1) / width_;
    for (int64_t step = 0; step < steps; ++step) {
      each(step + 1, blocks, [&](int64_t block) {
        update(step, block);
        if (block == step + 1 && block < steps) factor_block(block);
      });
    }
    each(0, steps, [&](int64_t block) {
      for (int64_t panel = block + 1; panel < steps; ++panel) {
        const int64_t row = panel * width_;
        exchange(columns(block, row), swaps_ + row, std::min(width_, least_ - row));
      }
    });
    for (int64_t first = width_; first < least_; first += width_)
      for (int64_t k = first; k < std::min(first + width_, least_); ++k)
        swaps_[k] += static_cast<int>(first);
    return failed_;
  }

 private:
  /// Calls body(block) for blocks [first, last), in order, each on the thread that is free.
  template <class Body>
  void each(int64_t first, int64_t last, const Body& body) const {
    std::atomic<int64_t> next = first;
    parallel_for(0, std::min<int64_t>(num_threads(), last - first), 1, [&](int64_t, int64_t) {
      for (int64_t block = next++; block < last; block = next++) body(block);
    });
  }

  /// A block, from a row on.
  Matrix<T> columns(int64_t block, int64_t row) const {
    const int64_t first = block * width_;
    return part(a_, row, first, a_.rows - row, std::min(width_, a_.columns - first));
  }

  void factor_block(int64_t block) {
    const int64_t first = block * width_;
    const int failed = factor_halves(columns(block, first), swaps_ + first);
    if (failed_ == 0 && failed != 0) failed_ = failed + static_cast<int>(first);
  }

  /// What a factored panel means for a block on its right.
  void update(int64_t panel, int64_t block) const {
    const int64_t first = panel * width_, count = std::min(width_, least_ - first);
    const Matrix<T> mine = columns(block, first), factors = columns(panel, first);
    const int64_t rest = mine.rows - count;
    exchange(mine, swaps_ + first, count);
    const Matrix<T> above = part(mine, 0, 0, count, mine.columns);
    solve_triangle(constant(part(factors, 0, 0, count, count)), above, false, true);
    multiply(part(mine, count, 0, rest, mine.columns), T(-1),
             constant(part(factors, count, 0, rest, count)), constant(above), T(1));
  }

  Matrix<T> a_;
  int64_t least_, width_;
  int* swaps_;
  int failed_ = 0;
};

}  // namespace

template <class T>
void exchange(const Matrix<T>& a, const int* swaps, int64_t count) {
  const int64_t grain = std::max<int64_t>(1, kWorthExchanges / std::max<int64_t>(1, count));
  parallel_for(0, a.columns, grain, [&](int64_t begin, int64_t end) {
    // Along what is dense.
    if (a.column_step == 1) {
      for (int64_t k = 0; k < count; ++k)
        if (swaps[k] != k + 1) exchange_lines(&a(k, begin), &a(swaps[k] - 1, begin), end - begin);
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

template <class T>
int factor(const Matrix<T>& a, int* swaps) {
  // Measured on Zen 5, from 128 to 1024 rows.
  constexpr int64_t kLeast = 128, kSteps = 6, kMostColumns = 8 * kPanel;
  const int64_t least = std::min(a.rows, a.columns);
  if (least >= kLeast && num_threads() > 1 && !in_parallel_region()) {
    const int64_t width = (least + kSteps * kPanel - 1) / (kSteps * kPanel) * kPanel;
    return Ahead<T>(a, swaps, std::min(width, kMostColumns)).run();
  }
  return factor_halves(a, swaps);
}

#define FLAMBEAU_FACTOR(T)                                       \
  template void exchange(const Matrix<T>&, const int*, int64_t); \
  template int factor(const Matrix<T>&, int*);
FLAMBEAU_FACTOR(float)
FLAMBEAU_FACTOR(double)
FLAMBEAU_FACTOR(complex<float>)
FLAMBEAU_FACTOR(complex<double>)
#undef FLAMBEAU_FACTOR

}  // namespace flambeau::cpu::lapack
