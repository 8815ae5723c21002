#include "cpu/linalg/gemm_grid.h"
#include "cpu/linalg/gemm_strategies.h"

namespace flambeau::cpu {

template <class T>
void gemm_tiled(const GemmCall<T>& call) {
  const GemmKernels<T>& kernels = gemm_kernels<T>();
  over_parts(call, {kernels.tile_rows, kernels.tile_columns}, kernels.gemm);
}

template void gemm_tiled<float>(const GemmCall<float>&);
template void gemm_tiled<double>(const GemmCall<double>&);
template void gemm_tiled<int32_t>(const GemmCall<int32_t>&);
template void gemm_tiled<int64_t>(const GemmCall<int64_t>&);
template void gemm_tiled<complex<float>>(const GemmCall<complex<float>>&);
template void gemm_tiled<complex<double>>(const GemmCall<complex<double>>&);

}  // namespace flambeau::cpu
