#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/macros.h"

/// What a program does, as events: calls of operators, backward nodes, ranges that users name,
/// memory. Each thread writes events of its own; a call is the parent of what happens inside it.
/// While nothing is recorded, a call costs the test of one byte.
namespace flambeau::profiling {

/// Who looks at calls now: what is recorded of them, and whether somebody may compute them in place
/// of their operators (operators/taken.h), which is no part of a recording.
enum Recorded : uint8_t { kCalls = 1, kShapes = 2, kMemory = 4, kStacks = 8, kTaken = 16 };
extern FLAMBEAU_API std::atomic<uint8_t> recorded;
FLAMBEAU_INLINE uint8_t recorded_now() { return recorded.load(std::memory_order_relaxed); }

/// `engine`: of a node, what the engine does around it.
enum class Kind : uint8_t { call, backward, engine, range, memory };
using Shapes = std::vector<std::vector<int64_t>>;
template <class Tensor>
void add_shape(Shapes& shapes, const Tensor& tensor) {
  if (tensor.defined()) shapes.emplace_back(tensor.sizes().begin(), tensor.sizes().end());
}

/// What few events have.
struct Details {
  Shapes shapes;      ///< of the tensors that a call was given
  std::string stack;  ///< the lines of Python that made it
};

struct Event {
  Kind kind;
  int64_t parent = -1;            ///< the index of the event around it in its thread; -1: none
  int64_t start = 0, end = 0;     ///< nanoseconds, once they are taken; no end yet: 0
  const char* name;               ///< lives as long as the process
  int64_t bytes = 0;              ///< of memory: those that were taken; negative: given back
  const void* address = nullptr;  ///< of memory
  std::unique_ptr<Details> details = nullptr;
};

/// The events of one thread, in the order in which they began.
struct ThreadEvents {
  int64_t thread;  ///< the system's number of it
  std::vector<Event> events;
};

class Buffer;
/// A call that has begun; of none the rest is not set, which costs nothing.
struct Begun {
  Buffer* buffer = nullptr;
  int64_t index;
  uint64_t session;
};

/// From now on calls may be taken over, or not any more.
FLAMBEAU_API void set_taken(bool is_taken);
/// Starts to record, on all threads. Error(runtime) where something is recorded already.
FLAMBEAU_API void start(uint8_t what);
/// Ends it; what has not ended ends now.
FLAMBEAU_API std::vector<ThreadEvents> stop();

/// `shapes` and a stack are kept where they are recorded.
FLAMBEAU_API Begun begin(const char* name, Kind kind, Shapes&& shapes = {});
FLAMBEAU_API void end(const Begun& begun) noexcept;
/// Keeps what a call has begun in, for one that may end on another thread.
FLAMBEAU_API std::shared_ptr<Buffer> hold(const Begun& begun);
/// The same text, at an address that stays valid.
FLAMBEAU_API const char* lasting(const char* name);
/// Notes memory that tensors take (bytes > 0) or give back, in the innermost call.
FLAMBEAU_API void note_memory(const void* address, int64_t bytes) noexcept;

/// Set by the binding: the lines of Python that run on this thread, the innermost last.
extern FLAMBEAU_API std::string (*describe_stack)();

/// A call that ends with a scope.
class Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  ~Scope() {
    if (FLAMBEAU_UNLIKELY(begun_.buffer != nullptr)) end(begun_);
  }
  void start(const char* name, Kind kind, Shapes&& shapes = {}) {
    begun_ = begin(name, kind, std::move(shapes));
  }

 private:
  Begun begun_;
};

}  // namespace flambeau::profiling
