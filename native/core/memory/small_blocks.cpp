#include "core/memory/small_blocks.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_set>

#include "core/memory/system_memory.h"

namespace flambeau::detail {

thread_local constinit SmallBlocks small_blocks = {};

namespace {
/// All threads that have lists; what ended threads counted.
struct Threads {
  std::mutex mutex;
  std::unordered_set<SmallBlocks*> live;
  SmallTotals ended;

  Threads() {
    pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                   [] { instance().after_fork(); });
  }
  /// Never destroyed: tensors may die after static destructors ran.
  static Threads& instance() {
    static Threads& threads = *new Threads;
    return threads;
  }
  void end(SmallBlocks* blocks) {
    ended.data_bytes += blocks->data_bytes.load(std::memory_order_relaxed);
    ended.data_allocations += blocks->data_allocations.load(std::memory_order_relaxed);
    live.erase(blocks);
  }
  /// In the child, only the forking thread goes on.
  void after_fork() {
    for (auto it = live.begin(); it != live.end();) {
      SmallBlocks* blocks = *it++;
      if (blocks != &small_blocks) end(blocks);
    }
    mutex.unlock();
  }
};

/// Its destructor runs when the thread ends.
struct ThreadEnd {
  bool active = false;
  ~ThreadEnd() {
    if (!active) return;
    release_small();
    Threads& threads = Threads::instance();
    const std::lock_guard lock(threads.mutex);
    threads.end(&small_blocks);
    small_blocks.registered = false;
    small_blocks.closed = true;
    // Blocks that come later, from other thread-local objects, are counted as ended.
    small_blocks.data_bytes = 0;
    small_blocks.data_allocations = 0;
  }
};
thread_local ThreadEnd thread_end;

void register_thread(SmallBlocks& blocks) {
  thread_end.active = true;
  Threads& threads = Threads::instance();
  const std::lock_guard lock(threads.mutex);
  threads.live.insert(&blocks);
  blocks.registered = true;
}
}  // namespace

void* SmallBlocks::take_slow(int size_class) {
  if (!registered && !closed) register_thread(*this);
  return system_memory(small_class_bytes(size_class), kSmallest);
}

void SmallBlocks::give_slow(void* block, int size_class) noexcept {
  if (!registered && !closed) {
    register_thread(*this);
    give_small(block, size_class);
  } else {
    std::free(block);
  }
}

SmallTotals small_totals() {
  Threads& threads = Threads::instance();
  const std::lock_guard lock(threads.mutex);
  SmallTotals totals = threads.ended;
  for (const SmallBlocks* blocks : threads.live) {
    totals.data_bytes += blocks->data_bytes.load(std::memory_order_relaxed);
    totals.data_allocations += blocks->data_allocations.load(std::memory_order_relaxed);
  }
  return totals;
}

void release_small() {
  for (int i = 0; i < kSmallClasses; ++i) {
    while (SmallBlocks::Link* block = small_blocks.head[i]) {
      unpoison(block, small_class_bytes(i));
      small_blocks.head[i] = block->next;
      std::free(block);
    }
    small_blocks.length[i] = 0;
  }
}

}  // namespace flambeau::detail
