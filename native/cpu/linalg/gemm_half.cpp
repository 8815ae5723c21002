#include "core/backends/half_products.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/gemm_grid.h"
#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/half_kernels.h"

namespace flambeau::cpu {
namespace {

template <class T>
void run_dots(const HalfDots<T>& call, const HalfKernels<T>& kernels) {
  const int64_t grain = std::max<int64_t>(16, kGemvWork / std::max<int64_t>(call.depth, 1));
  parallel_for(0, call.many, grain, [&](int64_t begin, int64_t end) {
    HalfDots<T> part = call;
    part.many = end - begin;
    part.right += begin * call.right_line;
    part.c += begin * call.many_step;
    if (part.bias) part.bias += begin * call.bias_many;
    kernels.dots(part);
  });
}

}  // namespace

template <>
const HalfKernels<float16>& half_kernels() {
  static const HalfKernels<float16>& best = FLAMBEAU_PICK(half_kernels<float16>)();
  return best;
}

template <>
const HalfKernels<bfloat16>& half_kernels() {
  static const HalfKernels<bfloat16>& best = []() -> const HalfKernels<bfloat16>& {
    const HalfKernels<bfloat16>* found = nullptr;
    if (has_matrix_products()) found = FLAMBEAU_PICK(matrix_kernels)();
    if (!found && has_paired_products()) found = FLAMBEAU_PICK(paired_kernels)();
    return found ? *found : FLAMBEAU_PICK(half_kernels<bfloat16>)();
  }();
  return best;
}

template <class T>
void gemm_half(const Product<T>& call) {
  const HalfKernels<T>& kernels = half_kernels<T>();
  const auto& [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  const bool dense_rows = a.column == 1, dense_columns = b.row == 1;
  if (m <= kernels.few_lines && dense_columns) {
    return run_dots<T>(
        {m, n, k, a.data, a.row, a.column, b.data, b.column, c, ldc, 1, alpha, beta, bias, 0, 1},
        kernels);
  }
  if (n <= kernels.few_lines && dense_rows) {
    return run_dots<T>(
        {n, m, k, b.data, b.column, b.row, a.data, a.row, c, 1, ldc, alpha, beta, bias, 1, 0},
        kernels);
  }
  over_parts(call, {kernels.tile_rows, kernels.tile_columns}, kernels.gemm);
}

template void gemm_half<float16>(const Product<float16>&);
template void gemm_half<bfloat16>(const Product<bfloat16>&);

}  // namespace flambeau::cpu
