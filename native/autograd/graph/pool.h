#pragma once

#include <cstddef>

#include "core/base/macros.h"

/// Thread-local variables on the hot path are addressed without a call.
#define FLAMBEAU_FAST_TLS __attribute__((tls_model("initial-exec")))

// Sanitizers see through free lists only when there are none.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLAMBEAU_NO_POOL 1
#else
#define FLAMBEAU_NO_POOL 0
#endif

namespace flambeau::autograd {

/// Memory for nodes and autograd states: thread-local free lists of 64-byte size classes. A block
/// may be released on another thread than it was taken on.
class FLAMBEAU_API Pool {
 public:
  static void* allocate(size_t bytes) {
    const size_t index = (bytes + kStep - 1) / kStep;
#if !FLAMBEAU_NO_POOL
    if (FLAMBEAU_LIKELY(index < kClasses)) {
      List& list = lists_[index];
      if (FLAMBEAU_LIKELY(list.first != nullptr)) {
        Block* block = list.first;
        list.first = block->next;
        --list.count;
        return block;
      }
    }
#endif
    return allocate_slow(index);
  }
  static void release(void* data, [[maybe_unused]] size_t bytes) noexcept {
    [[maybe_unused]] const size_t index = (bytes + kStep - 1) / kStep;
#if !FLAMBEAU_NO_POOL
    if (FLAMBEAU_LIKELY(index < kClasses && lists_[index].count < lists_[index].limit)) {
      List& list = lists_[index];
      Block* block = static_cast<Block*>(data);
      block->next = list.first;
      list.first = block;
      ++list.count;
      return;
    }
#endif
    release_slow(data);
  }

 private:
  static constexpr size_t kStep = 64, kClasses = 9;
  /// Enough for the nodes of a large model's step; the rest goes back to the system.
  static constexpr unsigned kLimit = 16384;
  struct Block {
    Block* next;
  };
  /// `limit` is 0 until the thread's clean-up is registered and after it has run.
  struct List {
    Block* first = nullptr;
    unsigned count = 0, limit = 0;
  };
  struct Cleaner;
  static void* allocate_slow(size_t index);
  static void release_slow(void* data) noexcept;
  static FLAMBEAU_FAST_TLS thread_local constinit List lists_[kClasses];
};

}  // namespace flambeau::autograd
