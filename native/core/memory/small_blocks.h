#pragma once

/// Thread-local free lists of small blocks: what makes a small tensor cost no malloc. Internal to
/// the core.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/macros.h"

#ifdef FLAMBEAU_EXACT_BLOCKS
#include "core/memory/exact_blocks.h"
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

namespace flambeau::detail {

/// Under the address sanitizer, free blocks are out of bounds but for their link.
inline void poison(void* block, size_t bytes) noexcept {
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(block) + sizeof(void*), bytes - sizeof(void*));
}
inline void unpoison(void* block, size_t bytes) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
}

/// Classes of 64, 128, ... 1024 bytes; blocks are 64-byte aligned.
inline constexpr size_t kSmallest = 64, kSmallLimit = 1024;
inline constexpr int kSmallClasses = 5;
constexpr int small_class(size_t bytes) {
  return bytes <= kSmallest ? 0 : std::bit_width(bytes - 1) - 6;
}
constexpr size_t small_class_bytes(int size_class) { return kSmallest << size_class; }
/// Bytes that one thread keeps per class.
inline constexpr size_t kKeptPerClass = size_t{1} << 20;

/// The lists of one thread. A block may come back on another thread than it was taken on.
struct SmallBlocks {
  struct Link {
    Link* next;
  };
  Link* head[kSmallClasses];
  uint32_t length[kSmallClasses];
  /// What this thread took minus what it gave back, for tensor data only. Written by this thread
  /// alone, hence without a locked instruction; summed up by statistics().
  std::atomic<int64_t> data_bytes, data_allocations;
  bool registered, closed;

  void* take_slow(int size_class);
  void give_slow(void* block, int size_class) noexcept;
};

// A fixed offset from the thread pointer: no call into the loader on every access.
extern thread_local constinit SmallBlocks small_blocks __attribute__((tls_model("initial-exec")));

#ifdef FLAMBEAU_EXACT_BLOCKS
// Without lists, the address sanitizer sees who uses a block after its end.
inline void* take_small(int size_class) { return allocate_exact(small_class_bytes(size_class)); }
inline void give_small(void* data, int) noexcept { std::free(data); }
#else
/// OutOfMemory when the system has none left.
inline void* take_small(int size_class) {
  SmallBlocks& blocks = small_blocks;
  SmallBlocks::Link* block = blocks.head[size_class];
  if (FLAMBEAU_UNLIKELY(!block)) return blocks.take_slow(size_class);
  unpoison(block, small_class_bytes(size_class));
  blocks.head[size_class] = block->next;
  --blocks.length[size_class];
  return block;
}

inline void give_small(void* data, int size_class) noexcept {
  SmallBlocks& blocks = small_blocks;
  if (FLAMBEAU_UNLIKELY(blocks.length[size_class] >= kKeptPerClass >> (6 + size_class) ||
                        !blocks.registered)) {
    return blocks.give_slow(data, size_class);
  }
  auto* block = static_cast<SmallBlocks::Link*>(data);
  block->next = blocks.head[size_class];
  blocks.head[size_class] = block;
  ++blocks.length[size_class];
  poison(block, small_class_bytes(size_class));
}
#endif

inline void count_taken(size_t bytes) noexcept {
  SmallBlocks& blocks = small_blocks;
  blocks.data_bytes.store(
      blocks.data_bytes.load(std::memory_order_relaxed) + static_cast<int64_t>(bytes),
      std::memory_order_relaxed);
  blocks.data_allocations.store(blocks.data_allocations.load(std::memory_order_relaxed) + 1,
                                std::memory_order_relaxed);
}
inline void count_given(size_t bytes) noexcept {
  SmallBlocks& blocks = small_blocks;
  blocks.data_bytes.store(
      blocks.data_bytes.load(std::memory_order_relaxed) - static_cast<int64_t>(bytes),
      std::memory_order_relaxed);
}

/// Sums over all threads, ended ones included.
struct SmallTotals {
  int64_t data_bytes = 0, data_allocations = 0;
};
SmallTotals small_totals();
/// Gives the calling thread's free blocks back to the system.
void release_small();

}  // namespace flambeau::detail
