#include "core/memory/shared_storage.h"

#include <unistd.h>

#include <map>
#include <memory>

#include "core/base/error.h"
#include "core/memory/cpu_allocator.h"
#include "core/memory/shared_lock.h"
#include "core/memory/storage_alias.h"

namespace flambeau {

namespace {

/// A storage of up to kLargestBlock lies in a slab with others. What is never touched of a slab
/// takes no memory; what is lives as long as any block of it does, in any process.
constexpr size_t kSlab = size_t{4} << 20, kLargestBlock = size_t{128} << 10, kAlignment = 64;

/// The slab that new blocks come from. A forked child has the same one, and begins another.
struct Slab {
  Ref<SharedFile> file;
  size_t used = 0;
  pid_t owner = 0;
};
/// SharedLock guards it.
Slab& current_slab() {
  static auto& slab = *new Slab;  // never destroyed
  return slab;
}

struct Key {
  SharedFile::Identity file;
  size_t offset;
  auto operator<=>(const Key&) const = default;
};
/// Shared storages that are alive; SharedLock guards it.
std::map<Key, Storage*>& known_storages() {
  static auto& storages = *new std::map<Key, Storage*>;  // never destroyed
  return storages;
}

}  // namespace

SharedStorage::Block SharedStorage::take(size_t bytes, const char* op) {
  if (bytes > kLargestBlock) return {SharedFile::create(bytes, op), 0};
  const size_t size = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) & ~(kAlignment - 1);
  const pid_t process = getpid();
  {
    const SharedLock lock;
    Slab& slab = current_slab();
    if (slab.file && slab.owner == process && slab.used + size <= kSlab) {
      slab.used += size;
      return {slab.file, slab.used - size};
    }
  }
  Slab fresh{SharedFile::create(kSlab, op), size, process};
  const Ref<SharedFile> file = fresh.file;
  const SharedLock lock;
  std::swap(current_slab(), fresh);
  // `fresh` is the full slab now, and goes after the lock.
  return {file, 0};
}

SharedStorage::Block SharedStorage::filled(const Storage& source, const char* op) {
  Block block = take(source.bytes(), op);
  block.file->write(source.data(), source.bytes(), block.offset, op);
  return block;
}

/// Under SharedLock.
void SharedStorage::enter(Storage& storage, std::unique_ptr<Block> block) {
  known_storages()[{block->file->identity(), block->offset}] = &storage;
  storage.data_ = block->file->data() + block->offset;
  storage.release_ = release;
  storage.context_ = block.release();
}

Ref<Storage> SharedStorage::over(Block block, size_t bytes) {
  auto kept = std::make_unique<Block>(std::move(block));
  Ref<Storage> storage = Storage::borrow(nullptr, bytes, Device{}, nullptr, nullptr);
  const SharedLock lock;
  enter(*storage, std::move(kept));
  return storage;
}

Ref<Storage> SharedStorage::allocate(size_t bytes, const char* op) {
  Block block = take(bytes, op);
  if (bytes > 0) block.file->reserve(bytes, block.offset, op);
  return over(std::move(block), bytes);
}

bool SharedStorage::holds(const Storage& storage) {
  return StorageAlias::base_of(const_cast<Storage&>(storage)).release_ == release;
}

bool SharedStorage::can_move(const Storage& storage) {
  const Storage& memory = StorageAlias::base_of(const_cast<Storage&>(storage));
  const SharedLock lock;
  uint32_t exports = memory.pins_.load(std::memory_order_relaxed);
  for (const StorageAlias* alias = StorageAlias::first(); alias; alias = alias->next()) {
    if (&alias->base() != &memory) continue;
    --exports;  // the alias's own pin
    exports += alias->storage().pins_.load(std::memory_order_relaxed);
  }
  return exports == 0;
}

void SharedStorage::move(Storage& storage, const char* op) {
  Storage& memory = StorageAlias::base_of(storage);
  if (memory.release_ == release) return;
  check(can_move(memory), ErrorKind::runtime, op, ": a storage of ", memory.bytes(),
        " bytes cannot move to shared memory while something else holds its address (an array, a "
        "memoryview, a DLPack capsule); drop it first, or share a clone()");
  auto block = std::make_unique<Block>(filled(memory, op));
  void *const data = memory.data_, *const context = memory.context_;
  const Storage::Release owner = memory.release_;
  {
    const SharedLock lock;
    enter(memory, std::move(block));
    for (const StorageAlias* alias = StorageAlias::first(); alias; alias = alias->next())
      if (&alias->base() == &memory) alias->storage().data_ = memory.data_;
  }
  if (owner) {
    owner(context);
  } else {
    cpu_deallocate(data, memory.bytes());
  }
}

Ref<Storage> SharedStorage::copy(const Storage& storage, const char* op) {
  return over(filled(storage, op), storage.bytes());
}

SharedStorage::Place SharedStorage::place(const Storage& storage) {
  const Storage& memory = StorageAlias::base_of(const_cast<Storage&>(storage));
  check(memory.release_ == release, ErrorKind::runtime, "the storage is not in shared memory");
  const auto& block = *static_cast<const Block*>(memory.context_);
  return {block.file->descriptor(), block.file->identity(), block.offset, memory.bytes()};
}

Ref<Storage> SharedStorage::open(const Place& place, const char* op) {
  Ref<SharedFile> file = SharedFile::open(place.descriptor, op);
  check(place.offset <= file->bytes() && place.bytes <= file->bytes() - place.offset,
        ErrorKind::runtime, op, ": ", place.bytes, " bytes at ", place.offset,
        " reach outside a shared file of ", file->bytes(), " bytes");
  {
    const SharedLock lock;
    const auto known = known_storages().find({file->identity(), place.offset});
    if (known != known_storages().end() && known->second->retain_if_alive())
      return Ref<Storage>::adopt(known->second);
  }
  return over({std::move(file), place.offset}, place.bytes);
}

bool SharedStorage::forget(const Storage& storage) noexcept {
  const auto& block = *static_cast<const Block*>(storage.context_);
  const SharedLock lock;
  if (storage.was_found_again()) return false;
  const auto known = known_storages().find({block.file->identity(), block.offset});
  if (known != known_storages().end() && known->second == &storage) known_storages().erase(known);
  return true;
}

void SharedStorage::release(void* context) noexcept { delete static_cast<Block*>(context); }

}  // namespace flambeau
