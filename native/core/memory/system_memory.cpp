#include "core/memory/system_memory.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/base/error.h"
#include "core/memory/cpu_allocator.h"

namespace flambeau {

OutOfMemory::OutOfMemory(size_t bytes) noexcept {
  std::snprintf(message_, sizeof message_, "out of memory: the system has no %zu bytes left",
                bytes);
}

void* system_memory(size_t bytes, size_t alignment) {
  const auto take = [&] {
    if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  if (void* data = take()) return data;
  CpuAllocator::instance().release_for_others();
  if (void* data = take()) return data;
  throw OutOfMemory(bytes);
}

}  // namespace flambeau

#ifndef __SANITIZE_ADDRESS__  // which pairs its own with the operator delete
// What containers of the library take, through these: the standard ones neither give cached memory
// back nor say how much was wanted. The standard operator delete frees both.
FLAMBEAU_API void* operator new(size_t bytes) {
  return flambeau::system_memory(bytes > 0 ? bytes : 1, alignof(std::max_align_t));
}
FLAMBEAU_API void* operator new(size_t bytes, std::align_val_t alignment) {
  return flambeau::system_memory(bytes > 0 ? bytes : 1, static_cast<size_t>(alignment));
}
#endif
