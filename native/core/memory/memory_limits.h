#pragma once

#include <cstddef>

#include "core/base/macros.h"

namespace flambeau {

/// Bytes that processes like this one may take: the machine's memory, or less where its control
/// group (a container) has less. Read from files: ask once.
FLAMBEAU_API size_t machine_memory();

/// The process's limit on its address space (ulimit -v), in bytes; the largest number without one.
FLAMBEAU_API size_t address_space() noexcept;

}  // namespace flambeau
