#include <algorithm>
#include <cmath>
#include <limits>

#include "core/threads/parallel.h"
#include "cpu/nn/conv_types.h"
#include "kernels/distance.h"

/// Norms of differences of points, without the differences: they would fill memory.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Sums of term(|a - b|) over the coordinates.
template <class T, class Term>
T sum_terms(const T* a, const T* b, int64_t count, const Term& term) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += term(std::abs(a[i] - b[i]));
  return sum;
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

template <class T>
T norm(const T* a, const T* b, int64_t count, double p) {
  if (p == 2) return std::sqrt(sum_terms(a, b, count, [](T d) { return d * d; }));
  if (p == 1) return sum_terms(a, b, count, [](T d) { return d; });
  if (p == 0) return sum_terms(a, b, count, [](T d) { return d != 0 ? T(1) : T(0); });
  if (p == std::numeric_limits<double>::infinity()) return largest(a, b, count);
  const T power = static_cast<T>(p);
  return std::pow(sum_terms(a, b, count, [power](T d) { return std::pow(d, power); }), 1 / power);
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
                         for (int64_t j = 0; j < others; ++j)
                           out.data<T>()[i * others + j] = norm(a, b + j * count, count, p);
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
            T* to = out.data<T>() + i * (2 * rows - i - 1) / 2;
            for (int64_t j = i + 1; j < rows; ++j)
              *to++ = norm(points.data<T>() + i * count, points.data<T>() + j * count, count, p);
          }
        });
      },
      input);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
