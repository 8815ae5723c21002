#include "core/files/mapped_file.h"

#include <sys/mman.h>

#include <memory>

namespace flambeau {

namespace {

struct Mapping {
  void* data;
  size_t bytes;
};

void unmap(void* context) noexcept {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  munmap(mapping->data, mapping->bytes);
}

void release_whole(void* context) noexcept { delete static_cast<PinnedStorage*>(context); }

}  // namespace

Ref<Storage> map_file(int file, size_t bytes, bool shared) {
  if (bytes == 0) return Storage::allocate(0, Device{});
  auto mapping = std::make_unique<Mapping>(Mapping{nullptr, bytes});
  const int kind = shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  mapping->data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, file, 0);
  if (mapping->data == MAP_FAILED) return nullptr;
  Ref<Storage> storage = Storage::borrow(mapping->data, bytes, Device{}, mapping.get(), unmap);
  mapping.release();  // the storage owns it now
  return storage;
}

Ref<Storage> storage_part(Ref<Storage> whole, size_t offset, size_t bytes) {
  check(offset <= whole->bytes() && bytes <= whole->bytes() - offset, ErrorKind::value,
        "storage: the part of ", bytes, " bytes from ", offset, " on leaves the storage of ",
        whole->bytes(), " bytes");
  auto pinned = std::make_unique<PinnedStorage>(std::move(whole));
  const Storage& memory = *pinned->storage();
  void* data = memory.data() ? static_cast<char*>(memory.data()) + offset : nullptr;
  Ref<Storage> part = Storage::borrow(data, bytes, memory.device(), pinned.get(), release_whole);
  pinned.release();  // the storage owns it now
  return part;
}

}  // namespace flambeau
