#pragma once

#include "core/backends/device.h"
#include "core/base/intrusive.h"

namespace flambeau {

struct AllocatorStatistics {
  int64_t allocated_bytes = 0;  ///< in use by tensors
  int64_t peak_allocated_bytes = 0;
  int64_t reserved_bytes = 0;  ///< taken from the system: in use plus cached
  int64_t peak_reserved_bytes = 0;
  int64_t allocations = 0;         ///< requests served since the start
  int64_t system_allocations = 0;  ///< requests that reached the system
};

/// Where a backend's memory comes from. Thread-safe.
class FLAMBEAU_API Allocator {
 public:
  virtual ~Allocator() = default;
  /// At least 64-byte aligned. Error(out_of_memory) that states the request, the device and what is
  /// in use.
  virtual void* allocate(size_t bytes, Device device) = 0;
  virtual void deallocate(void* data, size_t bytes, Device device) noexcept = 0;
  /// Gives cached memory back to the system.
  virtual void release_cached() = 0;
  virtual AllocatorStatistics statistics() const = 0;
  virtual void reset_peak() = 0;
};

FLAMBEAU_API void register_allocator(Backend backend, Allocator* allocator);
FLAMBEAU_API Allocator& allocator(Backend backend);
/// How a backend says which of its devices an index of -1 means.
FLAMBEAU_API void register_current_device(Backend backend, int (*current)());
/// Bytes that the CPU allocator may keep cached (default: a quarter of physical memory).
FLAMBEAU_API void set_cpu_cache_limit(size_t bytes);

/// A block of memory, shared by a tensor and its views, and the version that in-place writes count
/// up.
class FLAMBEAU_API Storage final : public RefCounted {
 public:
  using Release = void (*)(void* context) noexcept;
  /// Allocates. Meta storages hold no memory.
  static Ref<Storage> allocate(size_t bytes, Device device);
  /// Borrows memory of somebody else's; `release(context)` is called when the last tensor goes.
  static Ref<Storage> borrow(void* data, size_t bytes, Device device, void* context,
                             Release release);
  /// The same memory with a version of its own (Tensor.data). The base lives as long.
  static Ref<Storage> alias(Ref<Storage> base);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  /// Of a new alias, which takes the place of a storage whose versions were noted.
  void set_version(uint32_t version) { version_.store(version, std::memory_order_relaxed); }
  /// Grows, keeping the contents. The memory moves: Error(runtime) that names `op` where somebody
  /// else owns it, or holds its address (PinnedStorage).
  void grow(size_t bytes, const char* op);

 protected:
  void destroy() noexcept override;

 private:
  friend class PinnedStorage;
  friend class SparseStorage;
  friend class SharedStorage;
  friend class StorageAlias;
  Storage() = default;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Device device_;
  std::atomic<uint32_t> version_{0}, pins_{0};
  void* context_ = nullptr;
  Release release_ = nullptr;
};

/// A storage whose bytes stay where they are: what everything holds that hands out their address.
class PinnedStorage {
 public:
  explicit PinnedStorage(Ref<Storage> storage) : storage_(std::move(storage)) {
    storage_->pins_.fetch_add(1, std::memory_order_relaxed);
  }
  PinnedStorage(const PinnedStorage& other) : PinnedStorage(other.storage_) {}
  PinnedStorage& operator=(const PinnedStorage&) = delete;
  ~PinnedStorage() { storage_->pins_.fetch_sub(1, std::memory_order_relaxed); }
  const Ref<Storage>& storage() const { return storage_; }

 private:
  Ref<Storage> storage_;
};

}  // namespace flambeau
