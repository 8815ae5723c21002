#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/linalg/few_lines.h"
#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu {
namespace {

/// Factors and result of a @ x; the elements of x are `x_step` apart.
template <class T>
struct MatrixVector {
  int64_t rows, columns;
  MatrixView<T> a;
  const T* x;
  int64_t x_step;
  T* y;
};

/// How many lines of one factor, at most, are faster multiplied with those of the other where these
/// lie: the more, the better packing pays, and the less deep, the more it costs to add up lanes.
template <class T>
int64_t few_lines(int64_t depth) {
  constexpr int64_t kLeastDepth = 64, kVeryFew = 8, kDepthOfLine = 24;
  if (depth < kLeastDepth) return 0;
  return std::min(std::max(kVeryFew, depth / kDepthOfLine), gemm_kernels<T>().few_lines);
}

/// Fewer columns for each thread are not worth sums of its own.
constexpr int64_t kLeastColumns = 64;

/// A matrix of columns: each thread adds up some of them, and reads memory in order.
template <class T>
void gemv_by_columns(const GemvCall<T>& call) {
  const GemmKernels<T>& kernels = gemm_kernels<T>();
  const int64_t parts =
      in_parallel_region() ? 1
                           : std::min<int64_t>(num_threads(), call.rows * call.columns / kGemvWork);
  if (call.columns < kLeastColumns * std::max<int64_t>(parts, 1)) {
    const int64_t grain =
        std::max<int64_t>(kLeastColumns, kGemvWork / std::max<int64_t>(call.columns, 1));
    return parallel_for(0, call.rows, grain, [&](int64_t begin, int64_t end) {
      kernels.gemv_columns({end - begin, call.columns, call.a + begin, call.lda, call.x,
                            call.y + begin, call.alpha, call.beta});
    });
  }
  if (parts <= 1) return kernels.gemv_columns(call);
  const Tensor owner = empty(Shape{parts, call.rows}, dtype_of<T>);
  T* const sums = owner.data<T>();
  const int64_t step = (call.columns + parts - 1) / parts;
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = std::min(p * step, call.columns);
      kernels.gemv_columns({call.rows, std::min(step, call.columns - first),
                            call.a + first * call.lda, call.lda, call.x + first,
                            sums + p * call.rows, call.alpha, T(0)});
    }
  });
  for (int64_t i = 0; i < call.rows; ++i) {
    T sum = sums[i];
    for (int64_t p = 1; p < parts; ++p) sum += sums[p * call.rows + i];
    call.y[i] = call.beta == T(0) ? sum : static_cast<T>(sum + call.beta * call.y[i]);
  }
}

/// y = alpha * a @ x + beta * y; false when the layout needs copies (then tiles are packed).
template <class T>
bool try_gemv(MatrixVector<T> call, T alpha, T beta) {
  const MatrixView<T> a = call.a;
  const int64_t rows = call.rows, columns = call.columns;
  if (a.column != 1 && a.row != 1) return false;
  const T* x = call.x;
  if (call.x_step != 1) {
    T* dense = scratch<T>(2, static_cast<size_t>(columns));
    for (int64_t j = 0; j < columns; ++j) dense[j] = x[j * call.x_step];
    x = dense;
  }
  const GemmKernels<T>& kernels = gemm_kernels<T>();
  if (a.column != 1) {
    gemv_by_columns<T>({rows, columns, a.data, a.column, x, call.y, alpha, beta});
    return true;
  }
  const int64_t grain =
      std::max<int64_t>(64, (kGemvWork / std::max<int64_t>(columns, 1) + 63) / 64 * 64);
  const auto run = [&](int64_t begin, int64_t end) {
    kernels.gemv_rows(
        {end - begin, columns, a.data + begin * a.row, a.row, x, call.y + begin, alpha, beta});
  };
  if (rows <= grain)
    run(0, rows);
  else
    parallel_for(0, rows, grain, run);
  return true;
}

}  // namespace

template <class T>
void gemm_native(const GemmCall<T>& call) {
  const auto [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  if (n == 1 && (ldc == 1 || m == 1) && m > 1) {
    if (try_gemv<T>({m, k, a, b.data, b.row, c}, alpha, beta)) {
      for (int64_t i = 0; bias && i < m; ++i) c[i] += bias[0];
      return;
    }
  } else if (m == 1 && (n == 1 || b.column != 1 || k * n > 4096)) {
    if (try_gemv<T>({n, k, b.transposed(), a.data, a.column, c}, alpha, beta)) {
      for (int64_t j = 0; bias && j < n; ++j) c[j] += bias[j];
      return;
    }
  }
  if (try_few_lines(call, few_lines<T>(k), gemm_kernels<T>().dots)) return;
  gemm_tiled(call);
}

template void gemm_native<float>(const GemmCall<float>&);
template void gemm_native<double>(const GemmCall<double>&);
template void gemm_native<int32_t>(const GemmCall<int32_t>&);
template void gemm_native<int64_t>(const GemmCall<int64_t>&);

}  // namespace flambeau::cpu
