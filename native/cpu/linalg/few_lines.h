#pragma once

#include <algorithm>
#include <type_traits>

#include "core/threads/parallel.h"
#include "cpu/linalg/gemm_strategies.h"

namespace flambeau::cpu {

/// So few lines of halves are not worth packing the others.
inline constexpr int64_t kFewHalves = 8;

/// c of products of lines: `few` of one factor with `many` of the other, which are dense. The many
/// are read where they lie, as packing them would cost more than the products.
template <class T>
struct FewLines {
  int64_t few, many, depth;
  const T* left;
  int64_t left_line, left_step;
  const T* right;
  int64_t right_line;
  T* c;
  int64_t few_step, many_step;  ///< of c
  GemmFactor<T> alpha, beta;
  const T* bias;
  int64_t bias_few, bias_many;  ///< its steps

  void write(int64_t i, int64_t j, GemmFactor<T> sum) const {
    using S = Wrapping;
    T& out = c[i * few_step + j * many_step];
    S value = static_cast<S>(alpha) * static_cast<S>(sum);
    if (beta != GemmFactor<T>(0)) value += static_cast<S>(beta) * static_cast<S>(out);
    if (bias) value += static_cast<S>(bias[i * bias_few + j * bias_many]);
    out = static_cast<T>(value);
  }

 private:
  /// Integers overflow as unsigned ones do.
  using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                               std::type_identity<GemmFactor<T>>>::type;
};

/// Computes a product of which one factor has at most `most` lines, and the other dense ones, on
/// several threads by run(lines); false for others.
template <class T, class Run>
bool try_few_lines(const Product<T>& call, int64_t most, const Run& run) {
  const auto& [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  const auto over_threads = [&](const FewLines<T>& lines) {
    const int64_t grain = std::max<int64_t>(16, kGemvWork / std::max<int64_t>(k, 1));
    parallel_for(0, lines.many, grain, [&](int64_t begin, int64_t end) {
      FewLines<T> part = lines;
      part.many = end - begin;
      part.right += begin * lines.right_line;
      part.c += begin * lines.many_step;
      if (part.bias) part.bias += begin * lines.bias_many;
      run(part);
    });
    return true;
  };
  if (m <= most && b.row == 1)
    return over_threads(
        {m, n, k, a.data, a.row, a.column, b.data, b.column, c, ldc, 1, alpha, beta, bias, 0, 1});
  if (n <= most && a.column == 1)
    return over_threads(
        {n, m, k, b.data, b.column, b.row, a.data, a.row, c, 1, ldc, alpha, beta, bias, 1, 0});
  return false;
}

}  // namespace flambeau::cpu
