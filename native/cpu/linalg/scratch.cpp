#include "cpu/linalg/scratch.h"

#include <array>
#include <memory>
#include <new>

#include "core/base/error.h"

namespace flambeau::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};
struct Release {
  void operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }
};
struct Block {
  std::unique_ptr<std::byte[], Release> data;
  size_t bytes = 0;
};

}  // namespace

void* scratch_bytes(int slot, size_t bytes) {
  thread_local std::array<Block, 4> blocks;
  Block& block = blocks[static_cast<size_t>(slot)];
  if (block.bytes < bytes) {
    block.data.reset();
    block.bytes = 0;
    block.data.reset(static_cast<std::byte*>(::operator new[](bytes, kAlignment, std::nothrow)));
    if (!block.data) throw OutOfMemory(bytes);
    block.bytes = bytes;
  }
  return block.data.get();
}

}  // namespace flambeau::cpu
