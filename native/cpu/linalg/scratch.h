#pragma once

#include <cstddef>

namespace flambeau::cpu {

/// Working memory of this thread, 64-byte aligned, kept between calls; one block per slot (0..3).
/// Valid until the thread's next request for the same slot.
void* scratch_bytes(int slot, size_t bytes);

template <class T>
T* scratch(int slot, size_t count) {
  return static_cast<T*>(scratch_bytes(slot, count * sizeof(T)));
}

}  // namespace flambeau::cpu
