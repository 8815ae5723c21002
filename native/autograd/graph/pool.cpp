#include "autograd/graph/pool.h"

#include <cstddef>
#include <cstdlib>

#include "core/memory/system_memory.h"

namespace flambeau::autograd {

FLAMBEAU_FAST_TLS thread_local constinit Pool::List Pool::lists_[Pool::kClasses];

/// Opens this thread's lists when first touched, empties and shuts them when the thread ends.
struct Pool::Cleaner {
  Cleaner() {
    for (List& list : lists_) list.limit = kLimit;
  }
  ~Cleaner() {
    for (List& list : lists_) {
      list.limit = 0;
      while (Block* block = list.first) {
        list.first = block->next;
        std::free(block);
      }
      list.count = 0;
    }
  }
};

void* Pool::allocate_slow(size_t index) {
  // Only a missing list means that the thread is new: releases after the clean-up stay outside.
  thread_local Cleaner cleaner;
  (void)cleaner;
  return system_memory(index * kStep, alignof(std::max_align_t));
}

void Pool::release_slow(void* data) noexcept { std::free(data); }

}  // namespace flambeau::autograd
