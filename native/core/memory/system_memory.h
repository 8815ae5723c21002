#pragma once

#include <cstddef>

#include "core/base/macros.h"

namespace flambeau {

/// Memory of the system for the library's own objects, as std::aligned_alloc gives it. When there
/// is none, what the CPU's allocator keeps for reuse is given back first. Throws OutOfMemory.
FLAMBEAU_API void* system_memory(size_t bytes, size_t alignment);

}  // namespace flambeau
