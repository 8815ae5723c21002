#include "core/memory/cpu_allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>

#include "core/base/error.h"
#include "core/memory/memory_limits.h"

namespace flambeau {

#ifdef FLAMBEAU_EXACT_BLOCKS
unsigned char detail::flambeau_fill_byte = 0xfb;
#endif

namespace {
constexpr size_t kPage = 4096, kHugePage = size_t{1} << 21;

/// Rounds up to a multiple of an eighth of the power of two below: at most 12.5 % is wasted.
size_t round_to_class(size_t bytes) {
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) & ~(step - 1);
}
/// The medium class of a rounded size: 8 for every power of two above 1 KiB.
int medium_class(size_t rounded) {
  const int octave = std::bit_width(rounded - 1) - 1;
  return (octave - 10) * 8 + static_cast<int>((rounded - (size_t{1} << octave)) >> (octave - 3));
}
size_t medium_class_bytes(int index) {
  const int octave = index / 8 + 10;
  return (size_t{1} << octave) + (static_cast<size_t>(index % 8) << (octave - 3));
}
size_t round_large(size_t bytes) {
  const size_t rounded = round_to_class(bytes);
  const size_t unit = rounded >= 8 * kHugePage ? kHugePage : kPage;
  return (rounded + unit - 1) & ~(unit - 1);
}
}  // namespace

namespace {
thread_local constinit bool inside_allocator = false;
}

class CpuAllocator::Lock {
 public:
  explicit Lock(std::mutex& mutex) : guard_(mutex) { inside_allocator = true; }
  ~Lock() { inside_allocator = false; }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::lock_guard<std::mutex> guard_;
};

CpuAllocator::CpuAllocator() : limit_(machine_memory() / 4) {
  // A thread that forks while another allocates must not leave the child a locked mutex.
  pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] { instance().mutex_.unlock(); });
}

CpuAllocator& CpuAllocator::instance() {
  // Never destroyed: tensors may die after static destructors ran.
  static CpuAllocator& allocator = *new CpuAllocator;
  return allocator;
}

/// Made at once: where memory runs out, it is asked for what it can spare, and cannot be made then.
[[maybe_unused]] static const CpuAllocator& loaded = CpuAllocator::instance();

size_t CpuAllocator::limit() const {
  // The limit of the address space is the process's own to change.
  return limit_was_set_ ? limit_ : std::min(limit_, address_space() / 4);
}

void* CpuAllocator::allocate(size_t bytes, Device) {
  if (bytes <= detail::kSmallLimit) return cpu_allocate(bytes);
  check(bytes <= static_cast<size_t>(PTRDIFF_MAX) / 2, ErrorKind::out_of_memory,
        "cpu: cannot allocate ", bytes, " bytes: more than an address space");
  return bytes <= kLargeLimit ? allocate_medium(bytes) : allocate_large(bytes);
}

void CpuAllocator::count_allocation(size_t bytes) {
  ++counts_.allocations;
  counts_.allocated_bytes += static_cast<int64_t>(bytes);
  counts_.peak_allocated_bytes = std::max(counts_.peak_allocated_bytes, counts_.allocated_bytes);
  counts_.reserved_bytes = counts_.allocated_bytes + static_cast<int64_t>(cached_);
  counts_.peak_reserved_bytes = std::max(counts_.peak_reserved_bytes, counts_.reserved_bytes);
}

void* CpuAllocator::allocate_medium(size_t bytes) {
  const size_t size = round_to_class(bytes);
  const int index = medium_class(size);
  const Lock lock(mutex_);
  Link* block = medium_[index];
  if (block) {
    detail::unpoison(block, size);
    medium_[index] = block->next;
    cached_ -= size;
  } else {
    block = static_cast<Link*>(std::aligned_alloc(64, size));
    if (!block) {
      release_all();
      block = static_cast<Link*>(std::aligned_alloc(64, size));
    }
    if (!block) out_of_memory(bytes);
    ++counts_.system_allocations;
  }
  count_allocation(size);
  return block;
}

void* CpuAllocator::allocate_large(size_t bytes) {
  size_t size = round_large(bytes);
  const Lock lock(mutex_);
  void* data;
  const auto fit = large_.lower_bound(size);
  if (fit != large_.end() && fit->first <= size + size / 4) {
    size = fit->first;
    // Of blocks of a size the one that was given back last: it may still be in the cache.
    const auto newest = std::prev(large_.upper_bound(size));
    data = newest->second.data;
    large_in_use_.emplace(data, size);
    large_.erase(newest);
    cached_ -= size;
    detail::unpoison(data, size);
  } else {
    data = map_large(size);
    if (!data) {
      release_all();
      data = map_large(size);
    }
    if (!data) out_of_memory(bytes);
    try {
      large_in_use_.emplace(data, size);
    } catch (...) {
      munmap(data, size);
      throw;
    }
    ++counts_.system_allocations;
  }
  count_allocation(size);
  return data;
}

void* CpuAllocator::map_large(size_t bytes) {
  // Huge pages need their own alignment: map more and give the ends back.
  const size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapped =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (!slack) return mapped;
  char* begin = static_cast<char*>(mapped);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before) munmap(begin, before);
  munmap(begin + before + bytes, slack - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

void CpuAllocator::deallocate(void* data, size_t bytes, Device) noexcept {
  if (bytes <= detail::kSmallLimit) return cpu_deallocate(data, bytes);
  const Lock lock(mutex_);
  const bool is_large = bytes > kLargeLimit;
  // Asking the system costs more than a medium block does.
  const size_t most = is_large ? limit() : limit_;
  const size_t size = is_large ? take_out_of_use(data) : round_to_class(bytes);
  counts_.allocated_bytes -= static_cast<int64_t>(size);
  if (is_large) {
    if (size > most || !keep_large(data, size)) munmap(data, size);
  } else if (size > most) {
    std::free(data);
  } else {
    keep_medium(data, size);
  }
  if (FLAMBEAU_UNLIKELY(cached_ > most)) trim(most);
}

/// The size of a large block that is in use no longer.
size_t CpuAllocator::take_out_of_use(void* data) noexcept {
  const auto entry = large_in_use_.find(data);
  const size_t size = entry->second;
  large_in_use_.erase(entry);
  return size;
}

void CpuAllocator::keep_medium(void* data, size_t size) noexcept {
  Link*& head = medium_[medium_class(size)];
  Link* block = static_cast<Link*>(data);
  block->next = head;
  head = block;
  detail::poison(block, size);
  cached_ += size;
}

/// False when there is no memory to note the block in.
bool CpuAllocator::keep_large(void* data, size_t size) noexcept {
  try {
    large_.emplace(size, LargeBlock{data, ++stamp_});
  } catch (const std::bad_alloc&) {
    return false;
  }
  detail::poison(data, size);
  cached_ += size;
  return true;
}

/// Large blocks that have waited longest go first, then medium blocks from the biggest class down.
void CpuAllocator::trim(size_t limit) {
  while (cached_ > limit && !large_.empty()) {
    const auto oldest = std::min_element(
        large_.begin(), large_.end(),
        [](const auto& a, const auto& b) { return a.second.stamp < b.second.stamp; });
    detail::unpoison(oldest->second.data, oldest->first);
    munmap(oldest->second.data, oldest->first);
    cached_ -= oldest->first;
    large_.erase(oldest);
  }
  for (int index = kMediumClasses; index-- > 0 && cached_ > limit;) {
    const size_t size = medium_class_bytes(index);
    while (cached_ > limit && medium_[index]) {
      Link* block = medium_[index];
      detail::unpoison(block, size);
      medium_[index] = block->next;
      std::free(block);
      cached_ -= size;
    }
  }
}

void CpuAllocator::release_all() { trim(0); }

void CpuAllocator::release_cached() {
  detail::release_small();
  const Lock lock(mutex_);
  release_all();
}

void CpuAllocator::release_for_others() noexcept {
  if (!inside_allocator) release_cached();
}

void CpuAllocator::set_limit(size_t bytes) {
  const Lock lock(mutex_);
  limit_ = bytes;
  limit_was_set_ = true;
  trim(limit_);
}

AllocatorStatistics CpuAllocator::statistics() const {
  const detail::SmallTotals small = detail::small_totals();
  const Lock lock(mutex_);
  AllocatorStatistics result = counts_;
  result.reserved_bytes = result.allocated_bytes + static_cast<int64_t>(cached_);
  result.allocations += small.data_allocations;
  // Small blocks are only sampled here: keeping their peak would cost every small tensor.
  result.allocated_bytes += small.data_bytes;
  result.reserved_bytes += small.data_bytes;
  result.peak_allocated_bytes =
      std::max(result.peak_allocated_bytes + small.data_bytes, result.allocated_bytes);
  result.peak_reserved_bytes =
      std::max(result.peak_reserved_bytes + small.data_bytes, result.reserved_bytes);
  return result;
}

void CpuAllocator::reset_peak() {
  const Lock lock(mutex_);
  counts_.peak_allocated_bytes = counts_.allocated_bytes;
  counts_.peak_reserved_bytes = counts_.allocated_bytes + static_cast<int64_t>(cached_);
}

void CpuAllocator::out_of_memory(size_t bytes) const {
  fail(ErrorKind::out_of_memory, "cpu: cannot allocate ", bytes, " bytes (",
       static_cast<double>(bytes) / (1 << 30), " GiB); ", counts_.allocated_bytes,
       " bytes are in use and ", cached_, " bytes cached");
}

}  // namespace flambeau
