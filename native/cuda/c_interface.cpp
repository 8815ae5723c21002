/// What flambeau.cuda calls through ctypes, beside the operators. Every function returns 0, or 1
/// after an error whose message flambeau_cuda_error() gives.

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "core/backends/dispatch.h"
#include "cuda/allocator.h"
#include "cuda/device.h"

namespace {

using flambeau::cuda::CachingAllocator;
using flambeau::cuda::DeviceGuard;

thread_local std::string last_error;

template <class Body>
int guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

/// Of what a question was answered with: not ready is no error.
bool is_ready(cudaError_t state) {
  if (state != cudaErrorNotReady) FLAMBEAU_CUDA(state);
  cudaGetLastError();
  return state == cudaSuccess;
}

}  // namespace

extern "C" {

FLAMBEAU_API const char* flambeau_cuda_error() { return last_error.c_str(); }

/// What was wrong with the kernels that were registered last; empty when all is well.
FLAMBEAU_API const char* flambeau_cuda_load_failures() {
  return guarded([] { flambeau::check_registration(""); }) == 0 ? "" : last_error.c_str();
}

FLAMBEAU_API int flambeau_cuda_device_count() { return flambeau::cuda::device_count(); }
FLAMBEAU_API int flambeau_cuda_current_device(int* index) {
  return guarded([&] { *index = flambeau::cuda::current_device(); });
}
FLAMBEAU_API int flambeau_cuda_set_device(int index) {
  return guarded([&] { flambeau::cuda::set_device(index); });
}
FLAMBEAU_API int flambeau_cuda_synchronize(int index) {
  return guarded([&] { flambeau::cuda::synchronize(index); });
}

/// numbers: compute capability (2), multiprocessors, bytes of memory.
FLAMBEAU_API int flambeau_cuda_properties(int index, char* name, size_t room, int64_t* numbers) {
  return guarded([&] {
    flambeau::cuda::check_device(index);
    cudaDeviceProp properties;
    FLAMBEAU_CUDA(cudaGetDeviceProperties(&properties, index));
    std::strncpy(name, properties.name, room - 1);
    name[room - 1] = '\0';
    numbers[0] = properties.major;
    numbers[1] = properties.minor;
    numbers[2] = properties.multiProcessorCount;
    numbers[3] = static_cast<int64_t>(properties.totalGlobalMem);
  });
}
/// numbers: free and total bytes.
FLAMBEAU_API int flambeau_cuda_memory_info(int index, int64_t* numbers) {
  return guarded([&] {
    const DeviceGuard guard(index);
    size_t free = 0, total = 0;
    FLAMBEAU_CUDA(cudaMemGetInfo(&free, &total));
    numbers[0] = static_cast<int64_t>(free);
    numbers[1] = static_cast<int64_t>(total);
  });
}
/// numbers: the fields of AllocatorStatistics in their order.
FLAMBEAU_API int flambeau_cuda_memory_stats(int index, int64_t* numbers) {
  return guarded([&] {
    flambeau::cuda::check_device(index);
    const auto one = CachingAllocator::instance().statistics(index);
    numbers[0] = one.allocated_bytes;
    numbers[1] = one.peak_allocated_bytes;
    numbers[2] = one.reserved_bytes;
    numbers[3] = one.peak_reserved_bytes;
    numbers[4] = one.allocations;
    numbers[5] = one.system_allocations;
  });
}
FLAMBEAU_API int flambeau_cuda_reset_peak(int index) {
  return guarded([&] {
    flambeau::cuda::check_device(index);
    CachingAllocator::instance().reset_peak(index);
  });
}
FLAMBEAU_API int flambeau_cuda_empty_cache() {
  return guarded([&] { CachingAllocator::instance().release_cached(); });
}

FLAMBEAU_API int flambeau_cuda_stream_create(int index, int priority, void** stream) {
  return guarded([&] {
    const DeviceGuard guard(index);
    // Non-blocking: it does not wait for the default stream, nor the default stream for it.
    cudaStream_t made = nullptr;
    FLAMBEAU_CUDA(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, priority));
    *stream = made;
  });
}
FLAMBEAU_API int flambeau_cuda_stream_destroy(int index, void* stream) {
  return guarded([&] {
    const DeviceGuard guard(index);
    // Memory that belongs to the stream must not be handed out for a later stream of that address.
    FLAMBEAU_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
    FLAMBEAU_CUDA(cudaStreamDestroy(static_cast<cudaStream_t>(stream)));
  });
}
FLAMBEAU_API int flambeau_cuda_stream_synchronize(int index, void* stream) {
  return guarded([&] {
    const DeviceGuard guard(index);
    FLAMBEAU_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  });
}
FLAMBEAU_API int flambeau_cuda_stream_query(int index, void* stream, int* is_done) {
  return guarded([&] {
    const DeviceGuard guard(index);
    *is_done = is_ready(cudaStreamQuery(static_cast<cudaStream_t>(stream)));
  });
}
FLAMBEAU_API int flambeau_cuda_stream_wait(int index, void* stream, void* event) {
  return guarded([&] {
    const DeviceGuard guard(index);
    FLAMBEAU_CUDA(
        cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0));
  });
}
FLAMBEAU_API int flambeau_cuda_current_stream(int index, void** stream) {
  return guarded([&] {
    flambeau::cuda::check_device(index);
    *stream = flambeau::cuda::current_stream(index);
  });
}
FLAMBEAU_API int flambeau_cuda_set_current_stream(int index, void* stream) {
  return guarded(
      [&] { flambeau::cuda::set_current_stream(index, static_cast<cudaStream_t>(stream)); });
}
FLAMBEAU_API int flambeau_cuda_record_stream(void* data, void* stream) {
  return guarded(
      [&] { CachingAllocator::instance().record_stream(data, static_cast<cudaStream_t>(stream)); });
}

FLAMBEAU_API int flambeau_cuda_event_create(int index, int has_timing, void** event) {
  return guarded([&] {
    const DeviceGuard guard(index);
    cudaEvent_t made = nullptr;
    FLAMBEAU_CUDA(
        cudaEventCreateWithFlags(&made, has_timing ? cudaEventDefault : cudaEventDisableTiming));
    *event = made;
  });
}
FLAMBEAU_API int flambeau_cuda_event_destroy(void* event) {
  return guarded([&] { FLAMBEAU_CUDA(cudaEventDestroy(static_cast<cudaEvent_t>(event))); });
}
FLAMBEAU_API int flambeau_cuda_event_record(int index, void* event, void* stream) {
  return guarded([&] {
    const DeviceGuard guard(index);
    FLAMBEAU_CUDA(
        cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)));
  });
}
FLAMBEAU_API int flambeau_cuda_event_synchronize(void* event) {
  return guarded([&] { FLAMBEAU_CUDA(cudaEventSynchronize(static_cast<cudaEvent_t>(event))); });
}
FLAMBEAU_API int flambeau_cuda_event_query(void* event, int* is_done) {
  return guarded([&] { *is_done = is_ready(cudaEventQuery(static_cast<cudaEvent_t>(event))); });
}
FLAMBEAU_API int flambeau_cuda_event_elapsed(void* start, void* end, float* milliseconds) {
  return guarded([&] {
    FLAMBEAU_CUDA(cudaEventElapsedTime(milliseconds, static_cast<cudaEvent_t>(start),
                                       static_cast<cudaEvent_t>(end)));
  });
}

}  // extern "C"
