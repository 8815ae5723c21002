#pragma once

#include <cstddef>

/// Device memory: a part of this process's that the host may not touch, where the processor can
/// forbid it (protection keys); elsewhere such a mistake goes unnoticed.
namespace emulated::memory {

constexpr size_t kLimit = size_t{6} << 30;  ///< bytes of the device
/// Addresses are not used again for other memory, so there are more than bytes.
constexpr size_t kAddresses = size_t{1} << 38;

/// nullptr where no more is left. Fresh memory holds 0xA5: nobody may rely on zeros.
void* allocate(size_t bytes);
/// False for what is no allocation.
bool release(void* data);
size_t allocated_bytes();
/// Whether the address is the device's.
bool contains(const void* address);
/// From the device's first address.
size_t offset(const void* address);
/// Whether all bytes lie in one allocation.
bool is_allocated(const void* address, size_t bytes);

/// Allows this thread to touch device memory while it lives: the device at work.
class Access {
 public:
  Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access();
};

}  // namespace emulated::memory
