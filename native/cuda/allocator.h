#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/memory/storage.h"

namespace flambeau::cuda {

/// Keeps freed device memory for reuse, since cudaMalloc and cudaFree cost up to a millisecond and
/// wait for the device.
///
/// Memory is taken from the system in segments; blocks are cut from them and merge with free
/// neighbours again. A block belongs to the stream that was current when it was allocated: it can
/// be handed out again on that stream at once, because work in a stream runs in order. A tensor
/// that another stream used too must be told so (record_stream); its block then waits for that
/// stream's work.
class FLAMBEAU_API CachingAllocator final : public Allocator {
 public:
  /// Never destroyed: tensors may outlive static objects.
  static CachingAllocator& instance();

  void* allocate(size_t bytes, Device device) override;
  void deallocate(void* data, size_t bytes, Device device) noexcept override;
  void release_cached() override;
  /// Sums over all devices.
  AllocatorStatistics statistics() const override;
  void reset_peak() override;

  AllocatorStatistics statistics(int device) const;
  void reset_peak(int device);
  /// Work that was put into `stream` so far uses the block that holds `data`.
  void record_stream(void* data, cudaStream_t stream);

 private:
  struct Block;
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  using FreeBlocks = std::set<Block*, BySize>;

  /// Part of a segment; neighbours in memory form a list.
  struct Block {
    char* data = nullptr;
    size_t bytes = 0;
    cudaStream_t stream = nullptr;
    bool is_small = false, is_free = false;
    Block *before = nullptr, *after = nullptr;
    std::vector<cudaStream_t> other_streams;
  };
  /// A freed block that other streams may still read, until the events have passed.
  struct Waiting {
    Block* block;
    std::vector<cudaEvent_t> events;
  };
  struct Pool {
    FreeBlocks small, large;
    std::unordered_map<void*, Block*> used;
    std::vector<Waiting> waiting;
    AllocatorStatistics statistics;
  };

  CachingAllocator() = default;
  Pool& pool(int device);
  Block* take_cached(Pool& pool, size_t bytes, bool is_small, cudaStream_t stream);
  Block* take_segment(Pool& pool, size_t bytes, bool is_small, cudaStream_t stream);
  void cut(Pool& pool, Block* block, size_t bytes);
  void give_back(Pool& pool, Block* block);
  void collect(Pool& pool, bool wait);
  void release(Pool& pool, int device);
  [[noreturn]] void fail_out_of_memory(const Pool& pool, size_t bytes, int device) const;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Pool>> pools_;  // by device
};

}  // namespace flambeau::cuda
