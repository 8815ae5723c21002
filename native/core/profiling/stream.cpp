#include "core/profiling/stream.h"

#include <algorithm>
#include <new>

namespace flambeau::profiling {

namespace {
constexpr size_t kBlockWords = size_t{1} << 13;
}

void Stream::clear() noexcept {
  free_until(last_);
  first_ = last_;
  used_ = 0;
  if (last_ != nullptr) {
    last_->used.store(0, std::memory_order_relaxed);
  } else if (add_block(kBlockWords)) {
    first_ = last_;
  }
}

bool Stream::grow(size_t words) noexcept {
  // Without a first block there is no memory, and who takes finds nothing.
  return last_ != nullptr && add_block(std::max(words, kBlockWords));
}

bool Stream::add_block(size_t capacity) noexcept {
  auto block = std::unique_ptr<Block>(new (std::nothrow) Block);
  // Without values: pages are taken when they are written.
  if (block) block->words.reset(new (std::nothrow) uint64_t[capacity]);
  if (!block || !block->words) return false;
  Block* const added = block.release();
  if (last_ != nullptr) last_->next.store(added, std::memory_order_release);
  last_ = added;
  used_ = 0;
  capacity_ = capacity;
  return true;
}

void Stream::free_until(const Block* end) noexcept {
  while (first_ != end) {
    Block* const next = first_->next.load(std::memory_order_relaxed);
    delete std::exchange(first_, next);
  }
}

}  // namespace flambeau::profiling
