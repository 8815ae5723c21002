#include "core/memory/storage_alias.h"

#include <memory>

#include "core/memory/shared_lock.h"

namespace flambeau {

namespace {
StorageAlias* first_alias = nullptr;  // SharedLock guards it
}

Ref<Storage> StorageAlias::make(Ref<Storage> base) {
  auto alias = std::unique_ptr<StorageAlias>(new StorageAlias(std::move(base)));
  const Storage& memory = alias->base();
  // Empty until it is in the list: the memory may move before.
  Ref<Storage> storage = Storage::borrow(nullptr, 0, memory.device(), alias.get(), release);
  alias->storage_ = storage.get();
  const SharedLock lock;
  storage->data_ = memory.data();
  storage->bytes_ = memory.bytes();
  alias->next_ = first_alias;
  if (first_alias) first_alias->previous_ = alias.get();
  first_alias = alias.release();  // the storage owns it now
  return storage;
}

void StorageAlias::release(void* context) noexcept {
  const std::unique_ptr<StorageAlias> alias(static_cast<StorageAlias*>(context));
  // The base may go with the alias, after the lock.
  const SharedLock lock;
  (alias->previous_ ? alias->previous_->next_ : first_alias) = alias->next_;
  if (alias->next_) alias->next_->previous_ = alias->previous_;
}

const Ref<Storage>& StorageAlias::base_of(const Ref<Storage>& storage) {
  if (storage->release_ != release) return storage;
  return static_cast<const StorageAlias*>(storage->context_)->base_.storage();
}

Storage& StorageAlias::base_of(Storage& storage) {
  if (storage.release_ != release) return storage;
  return *static_cast<const StorageAlias*>(storage.context_)->base_.storage();
}

const StorageAlias* StorageAlias::first() { return first_alias; }

}  // namespace flambeau
