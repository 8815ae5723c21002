#pragma once

/// Stands in for CUDA's header of this name: g++ compiles kernels with it as plain functions, which
/// the emulator calls once for each thread of each block. What is not here no kernel uses so far.

#include <cmath>
#include <memory>
#include <tuple>
#include <type_traits>
// Headers of the C++ library that spell __noinline__ come before it is a macro.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda_runtime_api.h"

#define __host__
#define __device__
#define __global__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
// Blocks run one after another, and so share one copy.
#define __shared__ static

struct alignas(8) uint2 {
  unsigned x, y;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

/// Where the running thread is.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace emulated {

/// A call of a kernel. Its arguments are copies, as on a device.
struct Launch {
  Launch(const char* name, dim3 blocks, dim3 threads)
      : name(name), blocks(blocks), threads(threads) {}
  virtual ~Launch() = default;
  /// The work of one thread.
  virtual void run_thread() = 0;

  const char* name;
  dim3 blocks, threads;
};

template <class... Parameters>
struct KernelLaunch final : Launch {
  using Kernel = void (*)(Parameters...);
  template <class... Arguments>
  KernelLaunch(const char* name, dim3 blocks, dim3 threads, Kernel kernel,
               const Arguments&... arguments)
      : Launch(name, blocks, threads), kernel(kernel), arguments(arguments...) {}
  void run_thread() override { std::apply(kernel, arguments); }

  Kernel kernel;
  std::tuple<std::decay_t<Parameters>...> arguments;
};

cudaError_t enqueue(std::shared_ptr<Launch> launch, cudaStream_t stream);
/// Returns when all threads of the block have come here.
void wait_for_block();

}  // namespace emulated

inline void __syncthreads() { emulated::wait_for_block(); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               const Arguments&... arguments) {
  if (config->dynamicSmemBytes != 0) return cudaErrorInvalidConfiguration;  // not emulated
  using Call = emulated::KernelLaunch<Parameters...>;
  return emulated::enqueue(std::make_shared<Call>(__PRETTY_FUNCTION__, config->gridDim,
                                                  config->blockDim, kernel, arguments...),
                           config->stream);
}

inline double sinpi(double x) { return std::sin(M_PI * x); }
inline double cospi(double x) { return std::cos(M_PI * x); }
inline float sinpif(float x) { return static_cast<float>(sinpi(static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cospi(static_cast<double>(x))); }
double erfinv(double x);
inline float erfinvf(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }
