#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/base/macros.h"

/// Blocks of memory to and from files, with the CRC-32 of what passed.
namespace flambeau {

struct Transfer {
  uint32_t crc = 0;
  int error = 0;       ///< errno of what failed
  bool ended = false;  ///< the file ended before
};

/// Fills memory from a place in a file, on several threads.
FLAMBEAU_API Transfer read_file(int file, off_t offset, void* data, size_t bytes);

/// Writes memory to a place in a file, and lets the system begin to bring it to the disk.
FLAMBEAU_API Transfer write_file(int file, off_t offset, const void* data, size_t bytes);

}  // namespace flambeau
