#pragma once

#include <cuda_runtime.h>

#include "cuda/device.h"

namespace flambeau::cuda {

/// kernel<<<blocks, threads, 0, stream>>>(arguments...); Error(runtime) that names `op` where the
/// launch fails.
template <class... Parameters, class... Arguments>
void launch_kernel(const char* op, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                   cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  check_call(cudaLaunchKernelEx(&config, kernel, arguments...), op);
}

}  // namespace flambeau::cuda
