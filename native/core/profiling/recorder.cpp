#include "core/profiling/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/processor.h"
#include "core/profiling/stream.h"
#include "core/profiling/words.h"

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

/// The same text, for as long as the process lives.
const char* kept(const char* name) {
  static std::mutex mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace

/// What a thread has recorded. The thread alone writes into it.
class Buffer : public std::enable_shared_from_this<Buffer> {
 public:
  explicit Buffer(int64_t thread) : thread_(thread) {}

  FLAMBEAU_INLINE Begun begin(const char* name, Kind kind, const Shapes& shapes,
                              std::string_view stack) {
    enter_session();
    const size_t size = 2 + detail_words(shapes, stack);
    uint64_t* const words = stream_.room(size);
    if (!words) return {};
    const Begun begun{this, begun_++, session_.load(std::memory_order_relaxed)};
    if (kind == Kind::call && outermost_call_ < 0) outermost_call_ = begun.index;
    if (size > 2) write_details(words + 2, shapes, stack);
    words[1] = reinterpret_cast<uint64_t>(name);
    words[0] = first_word(static_cast<Word>(kind), ticks());  // what came before is the caller's
    stream_.publish(size);
    return begun;
  }

  void end(const Begun& begun, uint64_t time) noexcept {
    if (begun.session != session_.load(std::memory_order_relaxed)) return;
    if (begun.index == outermost_call_) outermost_call_ = -1;
    append(first_word(Word::ends, time), static_cast<uint64_t>(begun.index));
  }

  void note_memory(const void* address, int64_t bytes) noexcept {
    enter_session();
    append(first_word(Word::memory, ticks()), reinterpret_cast<uint64_t>(address),
           static_cast<uint64_t>(bytes));
  }

  /// Whether there is a call, whose stack is that of what happens in it.
  bool is_inside_call() {
    enter_session();
    return outermost_call_ >= 0;
  }

  /// The same text as `name`, at an address that stays valid.
  const char* lasting(const char* name) {
    const char*& known = names_[reinterpret_cast<uintptr_t>(name) / 16 % names_.size()];
    if (!known || std::strcmp(known, name) != 0) known = kept(name);
    return known;
  }

  /// The events of a session, which end at `time` where they have not ended; of any thread.
  ThreadEvents take(uint64_t session, uint64_t time, const Ends& ended_elsewhere) {
    ThreadEvents taken{thread_, {}};
    if (session_.load(std::memory_order_acquire) != session) return taken;
    Reader reader(taken.events, ended_elsewhere);
    stream_.take([&](std::span<const uint64_t> words) { reader.read(words); });
    const Calibration calibration;
    for (Event& event : taken.events) {
      if (event.end == 0) event.end = std::max(event.start, static_cast<int64_t>(time));
      event.start = calibration.nanoseconds(event.start);
      event.end = calibration.nanoseconds(event.end);
    }
    return taken;
  }

 private:
  FLAMBEAU_INLINE void enter_session() {
    const uint64_t current = session.load(std::memory_order_acquire);
    if (FLAMBEAU_UNLIKELY(session_.load(std::memory_order_relaxed) != current)) clear(current);
  }
  [[gnu::noinline]] void clear(uint64_t current) {
    stream_.clear();
    begun_ = 0;
    outermost_call_ = -1;
    session_.store(current, std::memory_order_release);
  }

  template <class... Words>
  FLAMBEAU_INLINE void append(Words... words) noexcept {
    uint64_t* place = stream_.room(sizeof...(words));
    if (!place) return;
    ((*place++ = words), ...);
    stream_.publish(sizeof...(words));
  }

  const int64_t thread_;
  Stream stream_;
  std::atomic<uint64_t> session_{0};  // whose events these are
  int64_t begun_ = 0;                 // how many have begun in it
  int64_t outermost_call_ = -1;       // among those that have not ended
  std::array<const char*, 64> names_{};
};

namespace {

/// Buffers outlive their threads until what they hold was taken.
struct Buffers {
  std::mutex mutex;
  std::vector<std::shared_ptr<Buffer>> all;
  std::unordered_map<const Buffer*, Ends> ended_elsewhere;
};
Buffers& buffers() {
  static Buffers& held = *new Buffers;  // threads may end after static objects do
  return held;
}

/// This thread's; null before it records something, and while it ends.
thread_local constinit Buffer* own __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit bool has_ended = false;

/// Makes it and gives it up with the thread.
struct OwnBuffer {
  OwnBuffer() : buffer(std::make_shared<Buffer>(gettid())) {
    const std::lock_guard lock(buffers().mutex);
    buffers().all.push_back(buffer);
    own = buffer.get();
  }
  ~OwnBuffer() {
    own = nullptr;
    has_ended = true;
  }
  const std::shared_ptr<Buffer> buffer;
};

[[gnu::noinline]] Buffer* make_own() {
  if (has_ended) return nullptr;
  thread_local const OwnBuffer made;
  return made.buffer.get();
}
FLAMBEAU_INLINE Buffer* own_buffer() { return FLAMBEAU_LIKELY(own != nullptr) ? own : make_own(); }

/// What has begun on another thread, which alone writes into its buffer.
[[gnu::noinline]] void end_elsewhere(const Begun& begun, uint64_t time) {
  const std::lock_guard lock(buffers().mutex);
  if (begun.session != session.load()) return;
  buffers().ended_elsewhere[begun.buffer].try_emplace(begun.index, static_cast<int64_t>(time));
}

[[gnu::noinline]] Begun begin_with_details(Buffer& buffer, const char* name, Kind kind,
                                           const Shapes& shapes) {
  std::string stack;
  if ((recorded_now() & kStacks) && describe_stack && !buffer.is_inside_call()) {
    stack = describe_stack();
  }
  return buffer.begin(name, kind, shapes, stack);
}

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
  buffers().ended_elsewhere.clear();
  recorded.fetch_or(what | kCalls);
}

std::vector<ThreadEvents> stop() {
  std::vector<ThreadEvents> taken;
  if ((recorded.fetch_and(kTaken) & kCalls) == 0) return taken;
  const uint64_t time = ticks();
  const std::lock_guard lock(buffers().mutex);
  for (const auto& buffer : buffers().all) {
    const Ends& ends = buffers().ended_elsewhere[buffer.get()];
    if (ThreadEvents found = buffer->take(session.load(), time, ends); !found.events.empty()) {
      taken.push_back(std::move(found));
    }
  }
  std::erase_if(buffers().all, [](const auto& buffer) { return buffer.use_count() == 1; });
  return taken;
}

Begun begin(const char* name, Kind kind, Shapes&& shapes) {
  Buffer* const buffer = own_buffer();
  if (FLAMBEAU_UNLIKELY(!buffer)) return {};
  if (FLAMBEAU_UNLIKELY(!shapes.empty() || (recorded_now() & kStacks))) {
    return begin_with_details(*buffer, name, kind, shapes);
  }
  return buffer->begin(name, kind, {}, {});
}

void end(const Begun& begun) noexcept {
  const uint64_t time = ticks();
  if (FLAMBEAU_LIKELY(begun.buffer == own)) {
    begun.buffer->end(begun, time);
  } else {
    end_elsewhere(begun, time);
  }
}

std::shared_ptr<Buffer> hold(const Begun& begun) { return begun.buffer->shared_from_this(); }

const char* lasting(const char* name) {
  Buffer* const buffer = own_buffer();
  return buffer ? buffer->lasting(name) : kept(name);
}

void note_memory(const void* address, int64_t bytes) noexcept {
  if (Buffer* const buffer = own_buffer()) buffer->note_memory(address, bytes);
}

}  // namespace flambeau::profiling
