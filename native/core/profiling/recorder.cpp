#include "core/profiling/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/processor.h"

namespace flambeau::profiling {

std::atomic<uint8_t> recorded{0};
std::string (*describe_stack)() = nullptr;

namespace {

/// Both clocks at one moment.
struct Moment {
  int64_t ticks, nanoseconds;
};
Moment now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return {static_cast<int64_t>(ticks()),
          std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()};
}
const Moment loaded = now();

/// Turns ticks into nanoseconds of the steady clock.
class Calibration {
 public:
  Calibration() {
    const Moment end = now();
    if (end.ticks > loaded.ticks) {
      rate_ = static_cast<double>(end.nanoseconds - loaded.nanoseconds) /
              static_cast<double>(end.ticks - loaded.ticks);
    }
  }
  int64_t nanoseconds(int64_t ticks) const {
    return loaded.nanoseconds +
           static_cast<int64_t>(static_cast<double>(ticks - loaded.ticks) * rate_);
  }

 private:
  double rate_ = 1;
};

/// Counts the recordings, so that a call which outlives its own leaves no trace in the next.
std::atomic<uint64_t> session{0};

}  // namespace

/// The events of a thread. Its lock is free but for the moment in which a recording ends.
class Buffer : public std::enable_shared_from_this<Buffer> {
 public:
  explicit Buffer(int64_t thread) : thread_(thread) {}

  Begun begin(Event&& event) {
    const std::lock_guard lock(mutex_);
    enter_session();
    event.parent = innermost_;
    innermost_ = static_cast<int64_t>(events_.size());
    events_.push_back(std::move(event));
    events_.back().start = ticks();  // what came before belongs to the caller
    return {this, innermost_, session_};
  }

  void end(const Begun& begun) {
    const int64_t time = ticks();
    const std::lock_guard lock(mutex_);
    if (begun.session != session_ || static_cast<size_t>(begun.index) >= events_.size()) return;
    Event& event = events_[static_cast<size_t>(begun.index)];
    if (event.end != 0) return;
    event.end = time;
    // Ranges of users may end in another order than they began in.
    while (innermost_ >= 0 && events_[static_cast<size_t>(innermost_)].end != 0) {
      innermost_ = events_[static_cast<size_t>(innermost_)].parent;
    }
  }

  void add(Event&& event) {
    const std::lock_guard lock(mutex_);
    enter_session();
    event.parent = innermost_;
    event.start = event.end = ticks();
    events_.push_back(std::move(event));
  }

  /// Whether the innermost call has a stack that what happens in it shares.
  bool is_inside_call() {
    const std::lock_guard lock(mutex_);
    return innermost_ >= 0 && session_ == session.load() &&
           events_[static_cast<size_t>(innermost_)].kind == Kind::call;
  }

  ThreadEvents take() {
    const int64_t time = ticks();
    const Calibration calibration;
    const std::lock_guard lock(mutex_);
    ThreadEvents taken{thread_, {}};
    if (session_ == session.load()) taken.events.swap(events_);
    for (Event& event : taken.events) {
      event.start = calibration.nanoseconds(event.start);
      event.end = calibration.nanoseconds(event.end == 0 ? time : event.end);
    }
    events_.clear();
    innermost_ = -1;
    return taken;
  }

 private:
  void enter_session() {
    const uint64_t current = session.load(std::memory_order_relaxed);
    if (FLAMBEAU_LIKELY(session_ == current)) return;
    session_ = current;
    events_.clear();
    events_.reserve(size_t{1} << 16);  // pages are taken when they are written
    innermost_ = -1;
  }

  std::mutex mutex_;
  const int64_t thread_;
  uint64_t session_ = 0;
  std::vector<Event> events_;
  int64_t innermost_ = -1;  // among the events that have not ended
};

namespace {

/// Buffers outlive their threads until what they hold was taken.
struct Buffers {
  std::mutex mutex;
  std::vector<std::shared_ptr<Buffer>> all;
};
Buffers& buffers() {
  static Buffers& held = *new Buffers;  // threads may end after static objects do
  return held;
}

/// This thread's; none while the thread ends.
class OwnBuffer {
 public:
  OwnBuffer() : buffer_(std::make_shared<Buffer>(gettid())) {
    const std::lock_guard lock(buffers().mutex);
    buffers().all.push_back(buffer_);
  }
  ~OwnBuffer() { has_ended = true; }
  static Buffer* get() {
    if (FLAMBEAU_UNLIKELY(has_ended)) return nullptr;
    thread_local const OwnBuffer own;
    return own.buffer_.get();
  }

 private:
  static thread_local constinit bool has_ended;
  std::shared_ptr<Buffer> buffer_;
};
thread_local constinit bool OwnBuffer::has_ended = false;

}  // namespace

void set_taken(bool is_taken) {
  if (is_taken) {
    recorded.fetch_or(kTaken);
  } else {
    recorded.fetch_and(static_cast<uint8_t>(~kTaken));
  }
}

void start(uint8_t what) {
  // A child process records nothing: nobody there would ask for it.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { recorded.fetch_and(kTaken); });
  const std::lock_guard lock(buffers().mutex);
  check((recorded.load() & kCalls) == 0, ErrorKind::runtime,
        "profiler: a profile is being made already; end it before another one starts");
  session.fetch_add(1);
  recorded.fetch_or(what | kCalls);
}

std::vector<ThreadEvents> stop() {
  recorded.fetch_and(kTaken);
  std::vector<ThreadEvents> taken;
  const std::lock_guard lock(buffers().mutex);
  for (const auto& buffer : buffers().all) {
    if (ThreadEvents events = buffer->take(); !events.events.empty()) {
      taken.push_back(std::move(events));
    }
  }
  std::erase_if(buffers().all, [](const auto& buffer) { return buffer.use_count() == 1; });
  return taken;
}

Begun begin(const char* name, Kind kind, Shapes&& shapes) {
  Buffer* const buffer = OwnBuffer::get();
  if (!buffer) return {};
  std::string stack;
  if ((recorded_now() & kStacks) && describe_stack && !buffer->is_inside_call()) {
    stack = describe_stack();
  }
  Event event{.kind = kind, .name = name};
  if (!shapes.empty() || !stack.empty()) {
    event.details = std::make_unique<Details>(Details{std::move(shapes), std::move(stack)});
  }
  return buffer->begin(std::move(event));
}

void end(const Begun& begun) noexcept { begun.buffer->end(begun); }

std::shared_ptr<Buffer> hold(const Begun& begun) { return begun.buffer->shared_from_this(); }

const char* lasting(const char* name) {
  static std::mutex mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

void note_memory(const void* address, int64_t bytes) noexcept {
  if (Buffer* const buffer = OwnBuffer::get()) {
    buffer->add({.kind = Kind::memory, .name = "[memory]", .bytes = bytes, .address = address});
  }
}

}  // namespace flambeau::profiling
