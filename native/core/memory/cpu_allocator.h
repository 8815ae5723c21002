#pragma once

#include <map>
#include <mutex>
#include <unordered_map>
#include "core/memory/small_blocks.h"
#include "core/memory/storage.h"

namespace flambeau {

/// The CPU's memory. Up to 1 KiB: thread-local lists (small_blocks.h). Above: blocks are kept and
/// reused within a limit, because touching fresh pages costs more than most elementwise work on
/// them. Medium blocks (below 1 MiB) are reused within their size class (12.5 % apart); large ones
/// are mapped pages, reused by best fit within 25 %.
class CpuAllocator final : public Allocator {
 public:
  static CpuAllocator& instance();

  void* allocate(size_t bytes, Device device = {}) override;
  void deallocate(void* data, size_t bytes, Device device = {}) noexcept override;
  void release_cached() override;
  /// The same when memory ran out elsewhere; does nothing inside the allocator itself.
  void release_for_others() noexcept;
  AllocatorStatistics statistics() const override;
  void reset_peak() override;
  void set_limit(size_t bytes);

 private:
  /// How much may be kept: what was set, or a quarter of the memory that the process may take.
  size_t limit() const;
  static constexpr size_t kLargeLimit = size_t{1} << 20;
  static constexpr int kMediumClasses = 81;  // 8 per power of two from 1 KiB to 1 MiB
  struct Link {
    Link* next;
  };
  struct LargeBlock {
    void* data;
    uint64_t stamp;  // when it was given back
  };

  /// Holds the mutex, and says so to this thread.
  class Lock;

  CpuAllocator();
  void* allocate_medium(size_t bytes);
  void* allocate_large(size_t bytes);
  void* map_large(size_t bytes);
  size_t take_out_of_use(void* data) noexcept;
  void keep_medium(void* data, size_t size) noexcept;
  bool keep_large(void* data, size_t size) noexcept;
  void count_allocation(size_t bytes);
  void trim(size_t limit);
  void release_all();
  [[noreturn]] void out_of_memory(size_t bytes) const;

  mutable std::mutex mutex_;
  Link* medium_[kMediumClasses] = {};
  std::multimap<size_t, LargeBlock> large_;
  std::unordered_map<void*, size_t> large_in_use_;
  uint64_t stamp_ = 0;
  size_t cached_ = 0, limit_;
  bool limit_was_set_ = false;
  AllocatorStatistics counts_;  // without the small blocks
};

#ifdef FLAMBEAU_EXACT_BLOCKS
inline void* cpu_allocate(size_t bytes) { return detail::allocate_exact(bytes); }
inline void cpu_deallocate(void* data, size_t) noexcept { std::free(data); }
#else
/// The way in for Storage: no virtual call, and nothing but a list for small sizes.
inline void* cpu_allocate(size_t bytes) {
  if (FLAMBEAU_LIKELY(bytes - 1 < detail::kSmallLimit)) {
    const int size_class = detail::small_class(bytes);
    detail::count_taken(detail::small_class_bytes(size_class));
    return detail::take_small(size_class);
  }
  return bytes == 0 ? nullptr : CpuAllocator::instance().allocate(bytes);
}
inline void cpu_deallocate(void* data, size_t bytes) noexcept {
  if (FLAMBEAU_LIKELY(bytes - 1 < detail::kSmallLimit)) {
    const int size_class = detail::small_class(bytes);
    detail::count_given(detail::small_class_bytes(size_class));
    detail::give_small(data, size_class);
  } else if (data) {
    CpuAllocator::instance().deallocate(data, bytes);
  }
}
#endif

}  // namespace flambeau
