#include <algorithm>
#include <cmath>
#include <limits>

#include "core/threads/parallel.h"
#include "cpu/nn/conv_types.h"
#include "kernels/distance.h"

/// Norms of differences of points, without the differences: they would fill memory.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// to[r] = whole(sum of term(|a - b|) over the coordinates) for points b, one behind the other: of
/// some at once, so that sums need not wait for each other.
template <class T, class Term, class Whole>
void sums(T* to, const T* a, const T* b, int64_t points, int64_t count, const Term& term,
          const Whole& whole) {
  for (; points >= 4; points -= 4, to += 4, b += 4 * count) {
    T first = 0, second = 0, third = 0, fourth = 0;
#pragma omp simd reduction(+ : first, second, third, fourth)
    for (int64_t i = 0; i < count; ++i) {
      first += term(std::abs(a[i] - b[i]));
      second += term(std::abs(a[i] - b[i + count]));
      third += term(std::abs(a[i] - b[i + 2 * count]));
      fourth += term(std::abs(a[i] - b[i + 3 * count]));
    }
    to[0] = whole(first);
    to[1] = whole(second);
    to[2] = whole(third);
    to[3] = whole(fourth);
  }
  for (; points > 0; --points, ++to, b += count) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i) sum += term(std::abs(a[i] - b[i]));
    *to = whole(sum);
  }
}

/// The largest |a - b|; NaN where there is one.
template <class T>
T largest(const T* a, const T* b, int64_t count) {
  T found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T distance = std::abs(a[i] - b[i]);
    found = (distance > found) | (distance != distance) ? distance : found;
    if (found != found) return found;
  }
  return found;
}

/// Distances of `a` from points b, one behind the other.
template <class T>
void norms(T* to, const T* a, const T* b, int64_t points, int64_t count, double p) {
  const auto same = [](T x) { return x; };
  if (p == 2)
    return sums(
        to, a, b, points, count, [](T d) { return d * d; }, [](T x) { return std::sqrt(x); });
  if (p == 1) return sums(to, a, b, points, count, same, same);
  if (p == 0)
    return sums(
        to, a, b, points, count, [](T d) { return d != 0 ? T(1) : T(0); }, same);
  if (p == std::numeric_limits<double>::infinity()) {
    for (; points > 0; --points, b += count) *to++ = largest(a, b, count);
    return;
  }
  const T power = static_cast<T>(p);
  sums(
      to, a, b, points, count, [power](T d) { return std::pow(d, power); },
      [power](T x) { return std::pow(x, 1 / power); });
}

/// So many rows of differences are worth a task.
int64_t rows_at_once(int64_t others, int64_t coordinates) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, others * coordinates));
}

}  // namespace

void pair_norms(const Tensor& result, const Tensor& x1, const Tensor& x2, double p) {
  if (result.numel() == 0) return;
  const IntList of_result = result.sizes(), of_points = x1.sizes();
  const int64_t rows = of_result[of_result.size() - 2], others = of_result.back(),
                count = of_points.back();
  with_float_compute(
      "cdist", result,
      [&](auto zero, const Tensor& out, const Tensor& left, const Tensor& right) {
        using T = decltype(zero);
        parallel_for(0, out.numel() / others, rows_at_once(others, count),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const T* const a = left.data<T>() + i * count;
                         const T* const b = right.data<T>() + i / rows * others * count;
                         norms(out.data<T>() + i * others, a, b, others, count, p);
                       }
                     });
      },
      x1, x2);
}

void pdist(const Tensor& result, const Tensor& input, double p) {
  if (result.numel() == 0) return;
  const int64_t rows = input.sizes()[0], count = input.sizes()[1];
  with_float_compute(
      "pdist", result,
      [&](auto zero, const Tensor& out, const Tensor& points) {
        using T = decltype(zero);
        parallel_for(0, rows - 1, rows_at_once(rows / 2, count), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const T* const a = points.data<T>() + i * count;
            norms(out.data<T>() + i * (2 * rows - i - 1) / 2, a, a + count, rows - i - 1, count, p);
          }
        });
      },
      input);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
