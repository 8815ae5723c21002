#include "core/backends/half_products.h"
#include "cpu/linalg/gemm_grid.h"
#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/half_kernels.h"

namespace flambeau::cpu {
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
  if (try_few_lines(call, kernels.few_lines, kernels.dots)) return;
  over_parts(call, {kernels.tile_rows, kernels.tile_columns}, kernels.gemm);
}

template void gemm_half<float16>(const Product<float16>&);
template void gemm_half<bfloat16>(const Product<bfloat16>&);

}  // namespace flambeau::cpu
