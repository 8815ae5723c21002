#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/memory/storage.h"

namespace flambeau {

/// What a backend's allocator may be made of: freed blocks are kept and handed out again, since
/// most systems take long to give memory and wait for the device to take it back.
///
/// A block is handed out again at once, on its own device. That is right where a device runs what
/// it is told in order, so that the next user's work comes behind the last one's; a backend with
/// several queues has to wait for those of others before it deallocates.
class FLAMBEAU_API ReusingAllocator : public Allocator {
 public:
  void* allocate(size_t bytes, Device device) final;
  void deallocate(void* data, size_t bytes, Device device) noexcept final;
  void release_cached() final;
  /// Sums over all devices.
  AllocatorStatistics statistics() const final;
  void reset_peak() final;

 protected:
  /// Memory of the system, at least 64-byte aligned; null where it has none. Called under a lock.
  virtual void* reserve(size_t bytes, Device device) = 0;
  /// The way back, once the device has done all its work.
  virtual void give_back(void* data, size_t bytes, Device device) noexcept = 0;
  /// Waits until a device has done all its work.
  virtual void synchronize(Device device) noexcept = 0;

 private:
  /// The blocks of one device and size. `free` has room for those in use, so that taking one back
  /// needs no memory.
  struct Blocks {
    std::vector<void*> free;
    size_t in_use = 0;
  };
  using Key = std::pair<int, size_t>;  ///< the device's index, bytes

  void* find(Blocks& blocks, size_t size, Device device);
  void* reserve_counted(size_t size, Device device);
  void release_all() noexcept;

  mutable std::mutex mutex_;
  std::map<Key, Blocks> blocks_;
  Backend backend_ = Backend::cpu;  ///< of all blocks
  AllocatorStatistics statistics_;
};

}  // namespace flambeau
