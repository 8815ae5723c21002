#include "streams.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "memory.h"

namespace emulated::streams {

namespace {

Mode when = Mode::late;
std::mt19937 chance;
std::vector<std::unique_ptr<CUstream_st>> all;
std::vector<cudaStream_t> defaults;
std::deque<CUevent_st> events;

bool is_ready(const CUstream_st::Work& work) {
  return work.event == nullptr || work.event->passed >= work.record;
}

/// Runs the first work of a stream; false where there is none, or it has to wait.
bool step(cudaStream_t stream) {
  if (stream->work.empty() || !is_ready(stream->work.front())) return false;
  const CUstream_st::Work work = std::move(stream->work.front());
  stream->work.pop_front();
  const memory::Access access;
  if (work.run) work.run();
  return true;
}

/// A step of every stream; false where none can go on.
bool step_all() {
  bool has_moved = false;
  for (size_t i = 0; i < all.size(); ++i) has_moved |= step(all[i].get());
  return has_moved;
}

[[noreturn]] void fail_deadlock() {
  std::fprintf(stderr, "emulator: streams wait for each other, or for what was never recorded\n");
  std::abort();
}

}  // namespace

void configure(Mode mode, unsigned seed) {
  when = mode;
  chance.seed(seed);
}

cudaStream_t create(int device) {
  all.push_back(std::make_unique<CUstream_st>());
  all.back()->device = device;
  return all.back().get();
}

void destroy(cudaStream_t stream) {
  finish(stream);
  std::erase_if(all, [=](const auto& kept) { return kept.get() == stream; });
}

cudaEvent_t create_event(int device, bool has_timing) {
  CUevent_st& made = events.emplace_back();
  made.device = device;
  made.has_timing = has_timing;
  return &made;
}

cudaStream_t of_device(int device) {
  while (defaults.size() <= static_cast<size_t>(device))
    defaults.push_back(create(static_cast<int>(defaults.size())));
  return defaults[static_cast<size_t>(device)];
}

void add(cudaStream_t stream, CUstream_st::Work work) {
  stream->work.push_back(std::move(work));
  if (when == Mode::eager)
    finish_device(-1);
  else
    let_pass();
}

void finish(cudaStream_t stream) {
  while (!stream->work.empty())
    if (!step(stream) && !step_all()) fail_deadlock();
}

void finish_device(int device) {
  for (size_t i = 0; i < all.size(); ++i)
    if (device < 0 || all[i]->device == device) finish(all[i].get());
}

void finish(cudaEvent_t event) {
  while (event->passed < event->recorded)
    if (!step_all()) fail_deadlock();
}

void let_pass() {
  if (when != Mode::random) return;
  for (const auto& stream : all)
    while (chance() % 3 == 0 && step(stream.get())) continue;
}

}  // namespace emulated::streams
