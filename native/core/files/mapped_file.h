#pragma once

#include "core/base/error.h"
#include "core/memory/storage.h"

namespace flambeau {

/// All of a file as memory that is read when it is touched. Writes stay in this process, or go to
/// the file where it is `shared`. Null with errno set when the system refuses.
FLAMBEAU_API Ref<Storage> map_file(int file, size_t bytes, bool shared = false);

/// A part of a storage as a storage of its own; the whole stays where it is as long as it lives.
FLAMBEAU_API Ref<Storage> storage_part(Ref<Storage> whole, size_t offset, size_t bytes);

}  // namespace flambeau
