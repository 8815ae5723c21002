#include "core/memory/storage.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "core/backends/dispatch.h"
#include "core/memory/cpu_allocator.h"
#include "core/memory/shared_storage.h"
#include "core/memory/storage_alias.h"
#include "core/profiling/recorder.h"

namespace flambeau {

namespace {
std::array<std::atomic<Allocator*>, kMaxBackends> allocators;
std::array<std::atomic<int (*)()>, kMaxBackends> current_devices;
constexpr int kStorageClass = detail::small_class(sizeof(Storage));

/// Tells a profile of bytes that are taken, or with a minus given back.
FLAMBEAU_INLINE void note(const void* data, int64_t bytes) {
  if (FLAMBEAU_UNLIKELY(profiling::recorded_now() & profiling::kMemory) && data) {
    profiling::note_memory(data, bytes);
  }
}

/// cpu and meta are one device each; elsewhere -1 stands for the current one.
Device resolve(Device device) {
  if (FLAMBEAU_LIKELY(device.is_cpu()) || device.is_meta()) return {device.backend, -1};
  if (device.index >= 0) return device;
  const auto current = current_devices[static_cast<int>(device.backend)].load();
  return {device.backend, static_cast<int8_t>(current ? current() : 0)};
}
}  // namespace

void register_allocator(Backend backend, Allocator* allocator) {
  Allocator* none = nullptr;
  check(backend != Backend::cpu && backend != Backend::meta &&
            allocators[static_cast<int>(backend)].compare_exchange_strong(none, allocator),
        ErrorKind::runtime, "register_allocator: ", Device{backend, -1},
        " has an allocator already");
}

void register_current_device(Backend backend, int (*current)()) {
  current_devices[static_cast<int>(backend)].store(current);
}

Allocator& allocator(Backend backend) {
  if (backend == Backend::cpu) return CpuAllocator::instance();
  Allocator* result = allocators[static_cast<int>(backend)].load(std::memory_order_acquire);
  check(result != nullptr, ErrorKind::runtime, "device ", Device{backend, -1},
        " is not available: no backend has registered an allocator for it");
  return *result;
}

void set_cpu_cache_limit(size_t bytes) { CpuAllocator::instance().set_limit(bytes); }

Ref<Storage> Storage::allocate(size_t bytes, Device device) {
  device = resolve(device);
  void* data = nullptr;
  if (FLAMBEAU_LIKELY(device.is_cpu())) {
    data = cpu_allocate(bytes);
  } else if (!device.is_meta() && bytes > 0) {
    data = flambeau::allocator(device.backend).allocate(bytes, device);
  } else if (!device.is_meta()) {
    flambeau::allocator(device.backend);  // an absent backend is an error for empty tensors too
  }
  note(data, static_cast<int64_t>(bytes));
  Storage* storage = new (detail::take_small(kStorageClass)) Storage;
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->device_ = device;
  return Ref<Storage>::adopt_new(storage);
}

Ref<Storage> Storage::borrow(void* data, size_t bytes, Device device, void* context,
                             Release release) {
  Storage* storage = new (detail::take_small(kStorageClass)) Storage;
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->device_ = resolve(device);
  storage->context_ = context;
  storage->release_ = release ? release : [](void*) noexcept {};
  return Ref<Storage>::adopt_new(storage);
}

Ref<Storage> Storage::alias(Ref<Storage> base) {
  // An alias of an alias is one of its base: `x.data = x.data` in a loop makes no chain.
  return StorageAlias::make(StorageAlias::base_of(base));
}

void Storage::destroy() noexcept {
  if (FLAMBEAU_UNLIKELY(release_ != nullptr)) {
    if (release_ == SharedStorage::release && !SharedStorage::forget(*this)) return;
    release_(context_);
  } else if (FLAMBEAU_LIKELY(device_.is_cpu())) {
    note(data_, -static_cast<int64_t>(bytes_));
    cpu_deallocate(data_, bytes_);
  } else if (data_) {
    note(data_, -static_cast<int64_t>(bytes_));
    allocators[static_cast<int>(device_.backend)].load()->deallocate(data_, bytes_, device_);
  }
  this->~Storage();
  detail::give_small(this, kStorageClass);
}

}  // namespace flambeau
