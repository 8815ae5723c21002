#include "cuda/device.h"

#include <array>
#include <mutex>

#include "core/memory/storage.h"

namespace flambeau::cuda {

namespace {
constexpr int kMaxDevices = 64;

thread_local std::array<cudaStream_t, kMaxDevices> streams{};

int count_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    // No driver or no GPU is an answer, not a failure: the error must not surface at a later call.
    cudaGetLastError();
    return 0;
  }
  return count < kMaxDevices ? count : kMaxDevices;
}

struct RegisterDevice {
  RegisterDevice() { register_current_device(Backend::cuda, &current_device); }
} const register_device;
}  // namespace

void fail_call(cudaError_t error, const char* call) {
  cudaGetLastError();  // clears errors that are not sticky
  const ErrorKind kind =
      error == cudaErrorMemoryAllocation ? ErrorKind::out_of_memory : ErrorKind::runtime;
  fail(kind, "CUDA: ", call, " failed with ", cudaGetErrorName(error), ": ",
       cudaGetErrorString(error));
}

int device_count() {
  static const int count = count_devices();
  return count;
}

void check_device(int index) {
  const int count = device_count();
  check(count > 0, ErrorKind::runtime,
        "device cuda is not available: the driver finds no CUDA device");
  check(index >= 0 && index < count, ErrorKind::runtime, "device cuda:", index,
        " does not exist; expected an index below ", count);
}

int current_device() {
  check_device(0);
  int index = 0;
  FLAMBEAU_CUDA(cudaGetDevice(&index));
  return index;
}

void set_device(int index) {
  check_device(index);
  FLAMBEAU_CUDA(cudaSetDevice(index));
}

DeviceGuard::DeviceGuard(int index) {
  const int current = current_device();
  if (index < 0 || index == current) return;
  set_device(index);
  previous_ = current;
}

DeviceGuard::~DeviceGuard() {
  // It was current before, so it exists; a sticky error of the device shows at the next call.
  if (previous_ >= 0) cudaSetDevice(previous_);
}

cudaStream_t current_stream(int device) { return streams[static_cast<size_t>(device)]; }
void set_current_stream(int device, cudaStream_t stream) {
  check_device(device);
  streams[static_cast<size_t>(device)] = stream;
}

void synchronize(int device) {
  const DeviceGuard guard(device);
  FLAMBEAU_CUDA(cudaDeviceSynchronize());
}

const DeviceLimits& limits(int device) {
  static std::array<DeviceLimits, kMaxDevices> table;
  static std::array<std::once_flag, kMaxDevices> once;
  const size_t index = static_cast<size_t>(device);
  std::call_once(once[index], [&] {
    FLAMBEAU_CUDA(
        cudaDeviceGetAttribute(&table[index].processors, cudaDevAttrMultiProcessorCount, device));
    FLAMBEAU_CUDA(cudaDeviceGetAttribute(&table[index].threads_per_processor,
                                         cudaDevAttrMaxThreadsPerMultiProcessor, device));
  });
  return table[index];
}

}  // namespace flambeau::cuda
