#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/base/macros.h"

namespace flambeau {

/// A base with a reference count. `destroy()` is called when the last reference goes.
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    // A sole owner needs no atomic read-modify-write: nobody else can take a reference.
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<RefCounted*>(this)->destroy();
    }
  }
  uint32_t use_count() const noexcept { return count_.load(std::memory_order_acquire); }

  /// Instead of the first retain() of a new object, which nobody else can see yet: a plain store.
  void retain_new() const noexcept { count_.store(1, std::memory_order_relaxed); }

  /// For tables that find objects without owning them, under the table's lock. False: it is dying.
  bool retain_if_alive() const noexcept {
    uint32_t count = use_count();
    while (count != 0 && !count_.compare_exchange_weak(count, count + 1)) {
    }
    return count != 0;
  }

 protected:
  /// In destroy() of such objects, under the same lock: whether it was found after all, and lives
  /// on. A sole owner that lets go is still counted then (see release).
  bool was_found_again() const noexcept { return use_count() != 0 && count_.fetch_sub(1) != 1; }
  RefCounted() = default;
  virtual ~RefCounted() = default;
  /// Returns the object to where it came from; `delete this` unless it is pooled.
  virtual void destroy() noexcept { delete this; }

 private:
  mutable std::atomic<uint32_t> count_{0};
};

/// An owning pointer to a RefCounted, one word.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) noexcept : Ref(static_cast<T*>(other.get())) {}
  template <class U>
  Ref(Ref<U>&& other) noexcept : object_(other.detach()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
  /// Gives up ownership without releasing.
  T* detach() noexcept { return std::exchange(object_, nullptr); }
  /// Owns an object that was just made.
  static Ref adopt_new(T* object) noexcept {
    object->retain_new();
    return adopt(object);
  }
  /// Takes over a reference that the caller owns.
  static Ref adopt(T* object) noexcept {
    Ref result;
    result.object_ = object;
    return result;
  }

 private:
  T* object_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  return Ref<T>::adopt_new(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace flambeau
