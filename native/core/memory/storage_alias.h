#pragma once

#include "core/memory/storage.h"

namespace flambeau {

/// What a storage keeps that is an alias of another one (Storage::alias). All aliases are in a
/// list, so that the memory of their bases can move.
class StorageAlias {
 public:
  /// Of a base that is no alias itself.
  static Ref<Storage> make(Ref<Storage> base);
  /// The storage that owns the memory: the base of an alias, else the storage itself.
  static const Ref<Storage>& base_of(const Ref<Storage>& storage);
  static Storage& base_of(Storage& storage);

  const Storage& base() const { return *base_.storage(); }
  Storage& storage() const { return *storage_; }
  /// The next alias of anything; both under SharedLock.
  const StorageAlias* next() const { return next_; }
  static const StorageAlias* first();

 private:
  explicit StorageAlias(Ref<Storage> base) : base_(std::move(base)) {}
  static void release(void* context) noexcept;
  PinnedStorage base_;
  Storage* storage_ = nullptr;
  StorageAlias *previous_ = nullptr, *next_ = nullptr;
};

}  // namespace flambeau
