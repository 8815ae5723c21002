/// The functions of CUDA's runtime, on streams and memory of the emulator.
///
/// FLAMBEAU_EMULATED_STREAMS: eager, late (the default), random or random:SEED: when work runs.
/// FLAMBEAU_EMULATED_THREADS: up (the default), down or shuffled: the order of a block's threads.
/// FLAMBEAU_EMULATED_FAILURE: the number of the call, of those that can, that fails.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "block.h"
#include "memory.h"
#include "streams.h"

namespace {

using namespace emulated;

constexpr int kDevices = 2, kProcessors = 2, kThreadsPerProcessor = 2048;
constexpr unsigned kMostThreads = 1024, kMostRows = 65535, kMostBlocks = 0x7fffffff;

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// What the environment asks for, read at the first call.
struct Settings {
  Order order = Order::up;
  long failing = -1;

  Settings() {
    const std::string threads = setting("FLAMBEAU_EMULATED_THREADS", "up");
    order = threads == "down" ? Order::down : threads == "shuffled" ? Order::shuffled : Order::up;
    const std::string when = setting("FLAMBEAU_EMULATED_STREAMS", "late");
    const auto colon = when.find(':');
    const unsigned seed =
        colon == std::string::npos ? 1 : static_cast<unsigned>(std::stoul(when.substr(colon + 1)));
    const std::string mode = when.substr(0, colon);
    streams::configure(mode == "eager"    ? streams::Mode::eager
                       : mode == "random" ? streams::Mode::random
                                          : streams::Mode::late,
                       seed);
    failing = std::stol(setting("FLAMBEAU_EMULATED_FAILURE", "-1"));
  }
};

/// One thread of the host at a time is with the emulator.
std::recursive_mutex& mutex() {
  static std::recursive_mutex made;
  return made;
}
Settings& settings() {
  static Settings made;
  return made;
}
struct Visit {
  const std::lock_guard<std::recursive_mutex> lock{mutex()};
  Settings& asked = settings();

  /// Whether this call is the one that fails.
  bool fails() const { return asked.failing >= 0 && asked.failing-- == 0; }
};

cudaStream_t stream_of(cudaStream_t stream) {
  return stream == nullptr ? streams::of_device(current_device) : stream;
}

bool can_launch(dim3 blocks, dim3 threads) {
  const unsigned count = threads.x * threads.y * threads.z;
  return blocks.x != 0 && blocks.x <= kMostBlocks && blocks.y != 0 && blocks.y <= kMostRows &&
         blocks.z != 0 && blocks.z <= kMostRows && count != 0 && count <= kMostThreads;
}

/// Ends the process: such a call is a mistake of its caller.
void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "emulator: %s\n", what);
  std::abort();
}

void check_copy(const void* to, const void* from, size_t bytes, bool to_device, bool from_device) {
  require(memory::contains(to) == to_device && memory::contains(from) == from_device,
          "a copy whose kind is not that of its addresses");
  require((!to_device || memory::is_allocated(to, bytes)) &&
              (!from_device || memory::is_allocated(from, bytes)),
          "a copy outside of every allocation");
  const auto* target = static_cast<const char*>(to);
  const auto* source = static_cast<const char*>(from);
  require(target >= source + bytes || source >= target + bytes, "a copy onto itself");
}

}  // namespace

cudaError_t emulated::enqueue(std::shared_ptr<Launch> launch, cudaStream_t stream) {
  const Visit visit;
  if (visit.fails()) return said(cudaErrorLaunchFailure);
  if (!can_launch(launch->blocks, launch->threads)) return said(cudaErrorInvalidConfiguration);
  require(stream_of(stream)->device == current_device, "a launch into another device's stream");
  const Order order = visit.asked.order;
  streams::add(stream_of(stream), {[launch, order] { run(*launch, order); }});
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
  }
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return said(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const Visit visit;
  streams::finish_device(current_device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? kProcessors : kThreadsPerProcessor;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"Emulated device", memory::kLimit, 9, 0, kProcessors};
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Visit visit;
  *total = memory::kLimit;
  *free = memory::kLimit - memory::allocated_bytes();
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** data, size_t bytes) {
  const Visit visit;
  *data = visit.fails() ? nullptr : memory::allocate(bytes);
  return *data == nullptr ? said(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  const Visit visit;
  streams::finish_device(-1);  // it waits
  return data == nullptr || memory::release(data) ? cudaSuccess : said(cudaErrorInvalidValue);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const Visit visit;
  *attributes = {};
  if (memory::contains(data)) attributes->type = cudaMemoryTypeDevice;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t given) {
  const Visit visit;
  if (visit.fails()) return said(cudaErrorLaunchFailure);
  if (bytes == 0) return cudaSuccess;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  check_copy(to, from, bytes, to_device, from_device);
  cudaStream_t stream = stream_of(given);
  if (from_device) {
    streams::add(stream, {[=] { std::memcpy(to, from, bytes); }});
    if (!to_device) streams::finish(stream);  // into pageable memory: returns when it is there
  } else {
    // From pageable memory: returns when the source has been read.
    const auto* begin = static_cast<const char*>(from);
    streams::add(stream,
                 {[=, read = std::string(begin, bytes)] { std::memcpy(to, read.data(), bytes); }});
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                cudaStream_t stream) {
  const Visit visit;
  if (visit.fails()) return said(cudaErrorLaunchFailure);
  check_copy(to, from, bytes, true, true);
  streams::add(stream_of(stream), {[=] { std::memcpy(to, from, bytes); }});
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  const Visit visit;
  *stream = streams::create(current_device);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Visit visit;
  streams::destroy(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Visit visit;
  streams::finish(stream_of(stream));
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Visit visit;
  streams::let_pass();
  return stream_of(stream)->work.empty() ? cudaSuccess : said(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Visit visit;
  streams::add(stream_of(stream), {{}, event, event->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Visit visit;
  *event = streams::create_event(current_device, flags != cudaEventDisableTiming);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Visit visit;
  event->is_destroyed = true;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t given) {
  const Visit visit;
  require(!event->is_destroyed, "an event that was destroyed is recorded");
  cudaStream_t stream = stream_of(given);
  if (stream->device != event->device) return said(cudaErrorInvalidResourceHandle);
  const long record = ++event->recorded;
  streams::add(stream, {[=] {
                 event->passed = std::max(event->passed, record);
                 event->at = std::chrono::steady_clock::now();
               }});
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Visit visit;
  streams::let_pass();
  return event->passed >= event->recorded ? cudaSuccess : said(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Visit visit;
  streams::finish(event);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Visit visit;
  if (!start->has_timing || !end->has_timing) return said(cudaErrorInvalidResourceHandle);
  if (start->passed < start->recorded || end->passed < end->recorded)
    return said(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return cudaSuccess;
}

/// By Newton's method from an approximation: S. Winitzki, "A handy approximation for the error
/// function and its inverse", 2008.
double erfinv(double x) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? std::copysign(HUGE_VAL, x) : NAN;
  constexpr double kShape = 0.147;
  const double log = std::log1p(-x * x);
  const double mean = 2 / (M_PI * kShape) + log / 2;
  double y = std::copysign(std::sqrt(std::sqrt(mean * mean - log / kShape) - mean), x);
  for (int i = 0; i < 4; ++i) {
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-y * y);
    if (slope != 0) y -= (std::erf(y) - x) / slope;
  }
  return y;
}
