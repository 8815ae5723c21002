#include "cuda/allocator.h"

#include <algorithm>
#include <functional>
#include <new>

#include "cuda/device.h"

namespace flambeau::cuda {

namespace {
constexpr size_t kUnit = 512;  // blocks are multiples of it, and aligned to it
constexpr size_t kMiB = size_t{1} << 20;
/// Up to this size, blocks are cut from segments of their own, so that long-lived small tensors do
/// not break up the large ones.
constexpr size_t kSmall = kMiB;
constexpr size_t kSmallSegment = 2 * kMiB;
constexpr size_t kMediumSegment = 32 * kMiB;
/// From this size on, a request gets a segment of its own.
constexpr size_t kLarge = 16 * kMiB;
/// A large block is cut only if what remains is worth keeping.
constexpr size_t kLeastRest = kMiB;

size_t up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

struct RegisterAllocator {
  RegisterAllocator() { register_allocator(Backend::cuda, &CachingAllocator::instance()); }
} const register_cuda_allocator;

void add_peak(AllocatorStatistics& statistics) {
  statistics.peak_allocated_bytes =
      std::max(statistics.peak_allocated_bytes, statistics.allocated_bytes);
  statistics.peak_reserved_bytes =
      std::max(statistics.peak_reserved_bytes, statistics.reserved_bytes);
}

struct Size {
  size_t bytes;
};
std::ostream& operator<<(std::ostream& stream, Size size) {
  if (size.bytes < kMiB) return stream << size.bytes << " bytes";
  const size_t tenths = size.bytes * 10 / kMiB;
  return stream << tenths / 10 << '.' << tenths % 10 << " MiB";
}
}  // namespace

bool CachingAllocator::BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return std::less<>()(a->stream, b->stream);
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  return std::less<>()(a->data, b->data);
}

CachingAllocator& CachingAllocator::instance() {
  alignas(CachingAllocator) static char memory[sizeof(CachingAllocator)];
  static CachingAllocator* const allocator = new (memory) CachingAllocator;
  return *allocator;
}

CachingAllocator::Pool& CachingAllocator::pool(int device) {
  const auto index = static_cast<size_t>(device);
  if (pools_.size() <= index) pools_.resize(index + 1);
  if (!pools_[index]) pools_[index] = std::make_unique<Pool>();
  return *pools_[index];
}

void* CachingAllocator::allocate(size_t bytes, Device device) {
  check_device(device.index);
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device.index);
  const std::lock_guard lock(mutex_);
  Pool& pool = this->pool(device.index);
  collect(pool, false);
  const size_t rounded = up(std::max<size_t>(bytes, 1), kUnit);
  const bool is_small = rounded <= kSmall;
  Block* block = take_cached(pool, rounded, is_small, stream);
  if (!block) block = take_segment(pool, rounded, is_small, stream);
  if (!block) {
    // Full: cached blocks of other sizes and streams go back to the system first.
    collect(pool, true);
    release(pool, device.index);
    block = take_segment(pool, rounded, is_small, stream);
  }
  if (!block) fail_out_of_memory(pool, rounded, device.index);
  cut(pool, block, rounded);
  block->is_free = false;
  pool.used.emplace(block->data, block);
  ++pool.statistics.allocations;
  pool.statistics.allocated_bytes += static_cast<int64_t>(block->bytes);
  add_peak(pool.statistics);
  return block->data;
}

CachingAllocator::Block* CachingAllocator::take_cached(Pool& pool, size_t bytes, bool is_small,
                                                       cudaStream_t stream) {
  FreeBlocks& blocks = is_small ? pool.small : pool.large;
  Block wanted;
  wanted.bytes = bytes;
  wanted.stream = stream;
  const auto found = blocks.lower_bound(&wanted);
  if (found == blocks.end() || (*found)->stream != stream) return nullptr;
  // A huge block is kept for huge requests.
  if (bytes < kLarge && (*found)->bytes > kMediumSegment) return nullptr;
  Block* block = *found;
  blocks.erase(found);
  return block;
}

CachingAllocator::Block* CachingAllocator::take_segment(Pool& pool, size_t bytes, bool is_small,
                                                        cudaStream_t stream) {
  const size_t segment = is_small         ? kSmallSegment
                         : bytes < kLarge ? kMediumSegment
                                          : up(bytes, 2 * kMiB);
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, segment);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  FLAMBEAU_CUDA(error);
  auto block = std::make_unique<Block>();
  block->data = static_cast<char*>(data);
  block->bytes = segment;
  block->stream = stream;
  block->is_small = is_small;
  ++pool.statistics.system_allocations;
  pool.statistics.reserved_bytes += static_cast<int64_t>(segment);
  return block.release();
}

void CachingAllocator::cut(Pool& pool, Block* block, size_t bytes) {
  const size_t rest = block->bytes - bytes;
  if (rest < (block->is_small ? kUnit : kLeastRest)) return;
  auto tail = std::make_unique<Block>();
  tail->data = block->data + bytes;
  tail->bytes = rest;
  tail->stream = block->stream;
  tail->is_small = block->is_small;
  tail->is_free = true;
  tail->before = block;
  tail->after = block->after;
  if (tail->after) tail->after->before = tail.get();
  block->after = tail.get();
  block->bytes = bytes;
  (block->is_small ? pool.small : pool.large).insert(tail.release());
}

void CachingAllocator::deallocate(void* data, size_t, Device device) noexcept {
  const std::lock_guard lock(mutex_);
  Pool& pool = this->pool(device.index);
  const auto found = pool.used.find(data);
  if (found == pool.used.end()) return;
  Block* block = found->second;
  pool.used.erase(found);
  pool.statistics.allocated_bytes -= static_cast<int64_t>(block->bytes);
  if (block->other_streams.empty()) return give_back(pool, block);
  const DeviceGuard guard(device);  // events belong to a device
  Waiting waiting{block, {}};
  for (const cudaStream_t stream : block->other_streams) {
    cudaEvent_t event = nullptr;
    // Without an event, the only safe moment is when the whole device is done.
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess ||
        cudaEventRecord(event, stream) != cudaSuccess) {
      cudaGetLastError();
      cudaDeviceSynchronize();
      if (event) cudaEventDestroy(event);
      continue;
    }
    waiting.events.push_back(event);
  }
  block->other_streams.clear();
  pool.waiting.push_back(std::move(waiting));
}

void CachingAllocator::give_back(Pool& pool, Block* block) {
  FreeBlocks& blocks = block->is_small ? pool.small : pool.large;
  const auto absorb = [&](Block* first, Block* second) {
    first->bytes += second->bytes;
    first->after = second->after;
    if (first->after) first->after->before = first;
    const std::unique_ptr<Block> gone(second);
    return first;
  };
  block->is_free = true;
  if (block->after && block->after->is_free) {
    blocks.erase(block->after);
    absorb(block, block->after);
  }
  if (block->before && block->before->is_free) {
    Block* before = block->before;
    blocks.erase(before);  // its size, and so its place, changes
    block = absorb(before, block);
  }
  blocks.insert(block);
}

/// Blocks whose other streams are done become free.
void CachingAllocator::collect(Pool& pool, bool wait) {
  for (size_t i = 0; i < pool.waiting.size();) {
    Waiting& waiting = pool.waiting[i];
    while (!waiting.events.empty()) {
      const cudaEvent_t event = waiting.events.back();
      if (wait) {
        cudaEventSynchronize(event);
      } else if (cudaEventQuery(event) == cudaErrorNotReady) {
        cudaGetLastError();
        break;
      }
      cudaEventDestroy(event);
      waiting.events.pop_back();
    }
    if (!waiting.events.empty()) {
      ++i;
      continue;
    }
    give_back(pool, waiting.block);
    std::swap(waiting, pool.waiting.back());
    pool.waiting.pop_back();
  }
}

/// Whole free segments go back to the system.
void CachingAllocator::release(Pool& pool, int device) {
  const DeviceGuard guard(device);
  bool is_idle = false;
  for (FreeBlocks* blocks : {&pool.small, &pool.large}) {
    for (auto it = blocks->begin(); it != blocks->end();) {
      Block* block = *it;
      if (block->before || block->after) {
        ++it;
        continue;
      }
      if (!is_idle) FLAMBEAU_CUDA(cudaDeviceSynchronize());
      is_idle = true;
      FLAMBEAU_CUDA(cudaFree(block->data));
      pool.statistics.reserved_bytes -= static_cast<int64_t>(block->bytes);
      it = blocks->erase(it);
      const std::unique_ptr<Block> gone(block);
    }
  }
}

void CachingAllocator::release_cached() {
  const std::lock_guard lock(mutex_);
  for (size_t device = 0; device < pools_.size(); ++device) {
    if (!pools_[device]) continue;
    collect(*pools_[device], true);
    release(*pools_[device], static_cast<int>(device));
  }
}

void CachingAllocator::record_stream(void* data, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  for (const auto& pool : pools_) {
    if (!pool) continue;
    const auto found = pool->used.find(data);
    if (found == pool->used.end()) continue;
    Block& block = *found->second;
    auto& streams = block.other_streams;
    const bool known = std::find(streams.begin(), streams.end(), stream) != streams.end();
    if (stream != block.stream && !known) streams.push_back(stream);
    return;
  }
  fail(ErrorKind::value, "record_stream: the memory does not come from the CUDA allocator");
}

AllocatorStatistics CachingAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  AllocatorStatistics sum;
  for (const auto& pool : pools_) {
    if (!pool) continue;
    const AllocatorStatistics& one = pool->statistics;
    sum.allocated_bytes += one.allocated_bytes;
    sum.peak_allocated_bytes += one.peak_allocated_bytes;
    sum.reserved_bytes += one.reserved_bytes;
    sum.peak_reserved_bytes += one.peak_reserved_bytes;
    sum.allocations += one.allocations;
    sum.system_allocations += one.system_allocations;
  }
  return sum;
}

AllocatorStatistics CachingAllocator::statistics(int device) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(device);
  return index < pools_.size() && pools_[index] ? pools_[index]->statistics : AllocatorStatistics{};
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  for (const auto& pool : pools_) {
    if (!pool) continue;
    pool->statistics.peak_allocated_bytes = pool->statistics.allocated_bytes;
    pool->statistics.peak_reserved_bytes = pool->statistics.reserved_bytes;
  }
}

void CachingAllocator::reset_peak(int device) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(device);
  if (index >= pools_.size() || !pools_[index]) return;
  AllocatorStatistics& one = pools_[index]->statistics;
  one.peak_allocated_bytes = one.allocated_bytes;
  one.peak_reserved_bytes = one.reserved_bytes;
}

void CachingAllocator::fail_out_of_memory(const Pool& pool, size_t bytes, int device) const {
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  const AllocatorStatistics& one = pool.statistics;
  fail(ErrorKind::out_of_memory, "CUDA out of memory on cuda:", device, ": ", Size{bytes},
       " requested; of ", Size{total}, " on the device, ", Size{free},
       " are free; tensors of this process hold ", Size{static_cast<size_t>(one.allocated_bytes)},
       ", its allocator has reserved ", Size{static_cast<size_t>(one.reserved_bytes)});
}

}  // namespace flambeau::cuda
