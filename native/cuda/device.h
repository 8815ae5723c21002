#pragma once

#include <cuda_runtime_api.h>

#include "core/backends/device.h"
#include "core/base/error.h"

namespace flambeau::cuda {

/// Error(runtime) that names the failed call, CUDA's name for the error and its description.
[[noreturn]] FLAMBEAU_API void fail_call(cudaError_t error, const char* call);
inline void check_call(cudaError_t error, const char* call) {
  if (FLAMBEAU_UNLIKELY(error != cudaSuccess)) fail_call(error, call);
}
/// FLAMBEAU_CUDA(cudaMalloc(&data, bytes));
#define FLAMBEAU_CUDA(call) ::flambeau::cuda::check_call((call), #call)

/// Devices that can be used; 0 without a driver or a GPU.
FLAMBEAU_API int device_count();
/// Of this thread.
FLAMBEAU_API int current_device();
FLAMBEAU_API void set_device(int index);
/// Error(runtime) unless 0 <= index < device_count().
FLAMBEAU_API void check_device(int index);

/// Makes a device current while it lives.
class FLAMBEAU_API DeviceGuard {
 public:
  explicit DeviceGuard(int index);
  explicit DeviceGuard(Device device) : DeviceGuard(device.index) {}
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  int previous_ = -1;  // -1: nothing to restore
};

/// The stream that this thread's kernels run in on a device: the device's default stream until
/// set_current_stream() names another.
FLAMBEAU_API cudaStream_t current_stream(int device);
FLAMBEAU_API void set_current_stream(int device, cudaStream_t stream);
/// Waits until a device has done all its work.
FLAMBEAU_API void synchronize(int device);

/// What launches need to know about a device, read once.
struct DeviceLimits {
  int processors = 0;             ///< streaming multiprocessors
  int threads_per_processor = 0;  ///< resident at most
};
FLAMBEAU_API const DeviceLimits& limits(int device);

}  // namespace flambeau::cuda
