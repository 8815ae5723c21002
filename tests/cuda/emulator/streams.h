#pragma once

#include <chrono>
#include <deque>
#include <functional>

#include "include/cuda_runtime_api.h"

/// A point in the work of streams. What was recorded last counts.
struct CUevent_st {
  int device = 0;
  bool has_timing = true, is_destroyed = false;
  long recorded = 0, passed = 0;
  std::chrono::steady_clock::time_point at;
};

/// Work that runs in the order in which it came.
struct CUstream_st {
  struct Work {
    std::function<void()> run;  // empty: waits for the event alone
    CUevent_st* event = nullptr;
    long record = 0;  // of the event, which comes first
  };
  int device = 0;
  std::deque<Work> work;
};

namespace emulated::streams {

/// When work runs: at once; when somebody waits for it; or at any moment between.
enum class Mode { eager, late, random };

void configure(Mode mode, unsigned seed);
cudaStream_t create(int device);
void destroy(cudaStream_t stream);
/// Lives as long as the process: work that waits for it may come later than its end.
cudaEvent_t create_event(int device, bool has_timing);
/// The default stream of a device.
cudaStream_t of_device(int device);
void add(cudaStream_t stream, CUstream_st::Work work);
/// Runs all that a stream holds, and what that waits for.
void finish(cudaStream_t stream);
/// All streams of a device, or of all devices with -1.
void finish_device(int device);
/// Runs until the event has come to pass.
void finish(cudaEvent_t event);
/// Something may run: called where a program asks how far the device is.
void let_pass();

}  // namespace emulated::streams
