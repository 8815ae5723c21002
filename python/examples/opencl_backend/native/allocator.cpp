#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "backend.h"
#include "context.h"
#include "core/base/error.h"
#include "core/memory/storage.h"

namespace flambeau::opencl {
namespace {

/// Shared virtual memory, whose blocks are kept and reused. The queue runs commands in order, so a
/// block may be handed out again while its last user still waits there.
class SharedMemory final : public Allocator {
 public:
  void* allocate(size_t bytes, Device device) override {
    const std::lock_guard lock(mutex_);
    const size_t size = rounded(bytes);
    ++statistics_.allocations;
    void* data = take(size);
    if (!data) data = reserve(size);
    if (!data) {
      give_back();
      data = reserve(size);
    }
    check(data, ErrorKind::out_of_memory, device, ": no room for ", bytes, " bytes; ",
          statistics_.allocated_bytes, " are in use");
    statistics_.allocated_bytes += static_cast<int64_t>(size);
    statistics_.peak_allocated_bytes =
        std::max(statistics_.peak_allocated_bytes, statistics_.allocated_bytes);
    return data;
  }

  void deallocate(void* data, size_t bytes, Device) noexcept override {
    const std::lock_guard lock(mutex_);
    const size_t size = rounded(bytes);
    free_[size].push_back(data);
    statistics_.allocated_bytes -= static_cast<int64_t>(size);
  }

  void release_cached() override {
    const std::lock_guard lock(mutex_);
    give_back();
  }

  AllocatorStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

  void reset_peak() override {
    const std::lock_guard lock(mutex_);
    statistics_.peak_allocated_bytes = statistics_.allocated_bytes;
    statistics_.peak_reserved_bytes = statistics_.reserved_bytes;
  }

 private:
  static constexpr size_t kUnit = 256;

  /// Few different sizes: an eighth of the next power of two apart.
  static size_t rounded(size_t bytes) {
    size_t unit = kUnit;
    while (unit * 8 < bytes) unit *= 2;
    return std::max<size_t>((bytes + unit - 1) / unit, 1) * unit;
  }

  void* take(size_t size) {
    const auto found = free_.find(size);
    if (found == free_.end() || found->second.empty()) return nullptr;
    void* const data = found->second.back();
    found->second.pop_back();
    return data;
  }

  void* reserve(size_t size) {
    void* const data = clSVMAlloc(Context::instance().context, CL_MEM_READ_WRITE, size, 0);
    if (!data) return nullptr;
    ++statistics_.system_allocations;
    statistics_.reserved_bytes += static_cast<int64_t>(size);
    statistics_.peak_reserved_bytes =
        std::max(statistics_.peak_reserved_bytes, statistics_.reserved_bytes);
    return data;
  }

  void give_back() {
    synchronize();
    for (auto& [size, blocks] : free_) {
      for (void* const data : blocks) clSVMFree(Context::instance().context, data);
      statistics_.reserved_bytes -= static_cast<int64_t>(size * blocks.size());
      blocks.clear();
    }
  }

  mutable std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;
  AllocatorStatistics statistics_;
};

struct RegisterMemory {
  RegisterMemory() {
    // Never destroyed: tensors may outlive every static object.
    register_allocator(backend(), new SharedMemory);
    register_current_device(backend(), [] { return 0; });
  }
} const register_memory;

}  // namespace
}  // namespace flambeau::opencl
