#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/base/macros.h"

namespace flambeau::profiling {

/// Groups of words that one thread appends and another one takes meanwhile, without a lock: in
/// blocks that never move, each with a count of the words in it that are complete.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  ~Stream() { free_until(nullptr); }

  /// Forgets all words. Of the thread that writes, before any other function and while nobody
  /// takes.
  void clear() noexcept;

  /// Room for a group of so many words, which `publish` completes; null where there is no memory.
  /// Of the thread that writes.
  FLAMBEAU_INLINE uint64_t* room(size_t words) noexcept {
    if (FLAMBEAU_UNLIKELY(words > capacity_ - used_) && !grow(words)) return nullptr;
    return last_->words.get() + used_;
  }
  FLAMBEAU_INLINE void publish(size_t words) noexcept {
    used_ += words;
    last_->used.store(used_, std::memory_order_release);
  }

  /// Gives `see` the complete groups of each block, and frees the blocks but for the last one,
  /// which the other thread may be writing. Of any thread, one at a time.
  template <class See>
  void take(const See& see) {
    while (first_ != nullptr) {
      // Asked first: once there is a next block, nothing more is written into this one.
      Block* const next = first_->next.load(std::memory_order_acquire);
      const size_t used = first_->used.load(std::memory_order_acquire);
      see(std::span<const uint64_t>(first_->words.get(), used));
      if (next == nullptr) return;
      delete std::exchange(first_, next);
    }
  }

 private:
  struct Block {
    std::atomic<size_t> used{0};
    std::atomic<Block*> next{nullptr};
    std::unique_ptr<uint64_t[]> words;
  };

  bool grow(size_t words) noexcept;
  bool add_block(size_t capacity) noexcept;
  void free_until(const Block* end) noexcept;

  Block* first_ = nullptr;          // of whoever takes, between two clear()s
  Block* last_ = nullptr;           // this and the rest is of the thread that writes
  size_t used_ = 0, capacity_ = 0;  // of the last block
};

}  // namespace flambeau::profiling
