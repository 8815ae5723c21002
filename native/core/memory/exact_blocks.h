#pragma once

/// The CPU's memory in builds for fuzzing (FLAMBEAU_EXACT_BLOCKS): a block of its own for every
/// tensor, of exactly the bytes asked for, so that the address sanitizer sees the first byte beside
/// it. New blocks are full of one byte: what depends on memory that nobody wrote changes with it.

#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace flambeau::detail {

/// The byte, and a larger block gets it in its first bytes only.
extern "C" FLAMBEAU_API unsigned char flambeau_fill_byte;
inline constexpr size_t kFilled = size_t{1} << 22;

inline void* allocate_exact(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = nullptr;
  if (bytes > static_cast<size_t>(PTRDIFF_MAX) / 2 || posix_memalign(&data, 64, bytes) != 0)
    fail(ErrorKind::out_of_memory, "cpu: cannot allocate ", bytes, " bytes");
  std::memset(data, flambeau_fill_byte, bytes < kFilled ? bytes : kFilled);
  return data;
}

}  // namespace flambeau::detail
