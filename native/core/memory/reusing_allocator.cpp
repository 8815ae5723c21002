#include "core/memory/reusing_allocator.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace flambeau {

namespace {

constexpr size_t kUnit = 256;

/// Few different sizes: an eighth of the next power of two apart. 0: no size is that large.
size_t rounded(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) return 0;
  size_t unit = kUnit;
  while (unit * 8 < bytes) unit *= 2;
  return std::max<size_t>((bytes + unit - 1) / unit, 1) * unit;
}

}  // namespace

void* ReusingAllocator::allocate(size_t bytes, Device device) {
  const std::lock_guard lock(mutex_);
  const size_t size = rounded(bytes);
  void* data = nullptr;
  if (size > 0) {
    backend_ = device.backend;
    Blocks& blocks = blocks_[{device.index, size}];
    blocks.free.reserve(blocks.free.size() + blocks.in_use + 1);
    data = find(blocks, size, device);
    blocks.in_use += data != nullptr;
  }
  ++statistics_.allocations;
  check(data, ErrorKind::out_of_memory, device, ": no room for ", bytes, " bytes; ",
        statistics_.allocated_bytes, " are in use");
  statistics_.allocated_bytes += static_cast<int64_t>(size);
  statistics_.peak_allocated_bytes =
      std::max(statistics_.peak_allocated_bytes, statistics_.allocated_bytes);
  return data;
}

void ReusingAllocator::deallocate(void* data, size_t bytes, Device device) noexcept {
  const std::lock_guard lock(mutex_);
  const size_t size = rounded(bytes);
  Blocks& blocks = blocks_.find({device.index, size})->second;
  blocks.free.push_back(data);
  --blocks.in_use;
  statistics_.allocated_bytes -= static_cast<int64_t>(size);
}

void ReusingAllocator::release_cached() {
  const std::lock_guard lock(mutex_);
  release_all();
}

AllocatorStatistics ReusingAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void ReusingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  statistics_.peak_allocated_bytes = statistics_.allocated_bytes;
  statistics_.peak_reserved_bytes = statistics_.reserved_bytes;
}

/// One that is free, else one of the system; null where there is none even with all others back.
void* ReusingAllocator::find(Blocks& blocks, size_t size, Device device) {
  if (!blocks.free.empty()) {
    void* const data = blocks.free.back();
    blocks.free.pop_back();
    return data;
  }
  if (void* const data = reserve_counted(size, device)) return data;
  release_all();
  return reserve_counted(size, device);
}

void* ReusingAllocator::reserve_counted(size_t size, Device device) {
  void* const data = reserve(size, device);
  if (!data) return nullptr;
  ++statistics_.system_allocations;
  statistics_.reserved_bytes += static_cast<int64_t>(size);
  statistics_.peak_reserved_bytes =
      std::max(statistics_.peak_reserved_bytes, statistics_.reserved_bytes);
  return data;
}

void ReusingAllocator::release_all() noexcept {
  for (auto& [key, blocks] : blocks_) {
    const auto& [index, size] = key;
    if (blocks.free.empty()) continue;
    const Device device{backend_, static_cast<int8_t>(index)};
    synchronize(device);
    for (void* const data : blocks.free) give_back(data, size, device);
    statistics_.reserved_bytes -= static_cast<int64_t>(size * blocks.free.size());
    blocks.free.clear();
  }
}

}  // namespace flambeau
