#pragma once

#include <memory>

#include "core/memory/shared_file.h"
#include "core/memory/storage.h"

namespace flambeau {

/// Storages whose memory other processes can map. Large ones have a file of their own, small ones a
/// block of a common one, so that a descriptor serves many. Blocks are not used again: only the
/// system knows which processes still look at them, and it frees whole files.
class FLAMBEAU_API SharedStorage {
 public:
  /// Where another process finds the memory.
  struct Place {
    int descriptor;
    SharedFile::Identity file;
    size_t offset, bytes;
  };

  /// New memory, full of zeros. All that fails names `op`.
  static Ref<Storage> allocate(size_t bytes, const char* op);
  static bool holds(const Storage& storage);
  /// Moves a storage's memory to where processes can share it, with all that aliases see.
  /// Error(runtime) that names `op` when somebody holds its address (PinnedStorage).
  static void move(Storage& storage, const char* op);
  /// Whether nobody holds its address.
  static bool can_move(const Storage& storage);
  /// A new shared storage with the same contents.
  static Ref<Storage> copy(const Storage& storage, const char* op);
  /// Error(runtime) unless the storage is shared.
  static Place place(const Storage& storage);
  /// The storage at a place: the same object while one is alive here.
  static Ref<Storage> open(const Place& place, const char* op);

 private:
  friend class Storage;
  struct Block {
    Ref<SharedFile> file;
    size_t offset;
  };
  static Block take(size_t bytes, const char* op);
  static Block filled(const Storage& source, const char* op);
  static Ref<Storage> over(Block block, size_t bytes);
  static void enter(Storage& storage, std::unique_ptr<Block> block);
  static void release(void* context) noexcept;
  /// Takes it out of the table; false: it was found there meanwhile, and lives on.
  static bool forget(const Storage& storage) noexcept;
};

}  // namespace flambeau
