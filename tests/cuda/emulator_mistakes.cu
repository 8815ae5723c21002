/// Kernels with one mistake each, for the test of the emulator: `emulator_mistakes NAME` runs one.

#include <cuda_runtime.h>

#include <cstdio>
#include <map>
#include <string>

namespace {

constexpr unsigned kThreads = 64, kBlocks = 3;

template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, void (*kernel)(Parameters...), const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks;
  config.blockDim = kThreads;
  config.stream = stream;
  if (cudaLaunchKernelEx(&config, kernel, arguments...) != cudaSuccess) std::puts("not launched");
}

/// The sum of 0 ... kThreads - 1 by halves, in every block.
__global__ void sum(int* results, bool has_barriers) {
  __shared__ int values[kThreads];
  const unsigned thread = threadIdx.x;
  values[thread] = static_cast<int>(thread);
  if (has_barriers) __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (thread < width) values[thread] += values[thread + width];
    if (has_barriers) __syncthreads();
  }
  if (thread == 0) results[blockIdx.x] = values[0];
}
__global__ void number(int* results, unsigned offset, unsigned step) {
  results[offset + (blockIdx.x * kThreads + threadIdx.x) * step] = static_cast<int>(threadIdx.x);
}
__global__ void write_odd(char* results) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *reinterpret_cast<int*>(results + 1) = 1;
}
__global__ void leave_early(int* results) {
  if (threadIdx.x % 2 == 0) return;
  __syncthreads();
  results[blockIdx.x * kThreads + threadIdx.x] = 1;
}

int* device_memory(size_t count) {
  void* data = nullptr;
  cudaMalloc(&data, count * sizeof(int));
  return static_cast<int*>(data);
}
void print_first(const int* device, cudaStream_t stream) {
  int first = 0;
  cudaMemcpyAsync(&first, device, sizeof first, cudaMemcpyDeviceToHost, stream);
  std::printf("%d\n", first);
}

/// One stream writes, the other reads: after an event, or at any time.
void read_in_other_stream(bool waits) {
  int* data = device_memory(kBlocks);
  cudaStream_t writer = nullptr, reader = nullptr;
  cudaStreamCreateWithPriority(&writer, cudaStreamNonBlocking, 0);
  cudaStreamCreateWithPriority(&reader, cudaStreamNonBlocking, 0);
  cudaEvent_t written = nullptr;
  cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
  launch(writer, sum, data, true);
  cudaEventRecord(written, writer);
  if (waits) cudaStreamWaitEvent(reader, written, 0);
  print_first(data, reader);
}

void run(void (*work)(int*), size_t count) {
  int* data = device_memory(count);
  work(data);
  print_first(data, nullptr);
}

}  // namespace

int main(int, char** arguments) {
  constexpr size_t kAll = size_t{kBlocks} * kThreads;
  const std::map<std::string, void (*)()> cases = {
      {"right", [] { run([](int* p) { launch(nullptr, sum, p, true); }, kBlocks); }},
      {"race", [] { run([](int* p) { launch(nullptr, sum, p, false); }, kBlocks); }},
      {"blocks", [] { run([](int* p) { launch(nullptr, number, p, 0u, 0u); }, 1); }},
      {"outside", [] { run([](int* p) { launch(nullptr, number, p, 1u, 1u); }, kAll); }},
      {"misaligned",
       [] { run([](int* p) { launch(nullptr, write_odd, reinterpret_cast<char*>(p)); }, 2); }},
      {"barrier", [] { run([](int* p) { launch(nullptr, leave_early, p); }, kAll); }},
      {"host", [] { run([](int* p) { *p = 1; }, 1); }},
      {"stream", [] { read_in_other_stream(false); }},
      {"event", [] { read_in_other_stream(true); }},
  };
  cases.at(arguments[1])();
  return 0;
}
