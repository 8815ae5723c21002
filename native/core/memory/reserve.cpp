#include "core/memory/reserve.h"

#include <sys/mman.h>

#include <mutex>

namespace flambeau {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

std::mutex mutex;
void* held = nullptr;

/// Pages that are never touched: they cost addresses, no memory.
void* reserve() noexcept {
  void* const found = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return found == MAP_FAILED ? nullptr : found;
}
[[maybe_unused]] const bool loaded = [] {
  held = reserve();
  return true;
}();

}  // namespace

void Reserve::take() noexcept {
  const std::lock_guard lock(mutex);
  if (!held) held = reserve();
}

void Reserve::give_back() noexcept {
  const std::lock_guard lock(mutex);
  if (held) munmap(std::exchange(held, nullptr), kBytes);
}

}  // namespace flambeau
