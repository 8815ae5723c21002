#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/macros.h"

namespace flambeau {

/// The CRC-32 of zip files (reflected polynomial 0xEDB88320) of bytes that follow those whose CRC
/// is `crc`; 0 before the first.
FLAMBEAU_API uint32_t crc32(uint32_t crc, const void* data, size_t bytes);

/// The CRC-32 of one block after another, from theirs and the length of the second.
FLAMBEAU_API uint32_t crc32_combined(uint32_t first, uint32_t second, size_t second_bytes);

}  // namespace flambeau
