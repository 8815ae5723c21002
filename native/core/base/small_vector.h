#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <utility>

#include "core/base/assert.h"
#include "core/base/macros.h"

namespace flambeau {

/// A vector whose first kInline elements live inside it: short lists cost no allocation.
template <class T, uint32_t kInline>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept {}
  explicit SmallVector(size_t count) { resize(count); }
  SmallVector(size_t count, const T& value) {
    reserve(count);
    for (size_t i = 0; i < count; ++i) emplace_back(value);
  }
  SmallVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  template <class Iterator>
  SmallVector(Iterator first, Iterator last) requires requires {
    *first;
  }
  { append(first, last); }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  size_t capacity() const noexcept { return capacity_; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](size_t i) noexcept { return at(i); }
  const T& operator[](size_t i) const noexcept { return at(i); }
  T& front() noexcept { return at(0); }
  const T& front() const noexcept { return at(0); }
  T& back() noexcept { return at(size_ - size_t{1}); }
  const T& back() const noexcept { return at(size_ - size_t{1}); }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (FLAMBEAU_UNLIKELY(size_ == capacity_)) {
      // The arguments may refer to an element that growing moves.
      T value(std::forward<Arguments>(arguments)...);
      grow(size_ + 1);
      return *new (data_ + size_++) T(std::move(value));
    }
    return *new (data_ + size_++) T(std::forward<Arguments>(arguments)...);
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() noexcept { data_[--size_].~T(); }
  void clear() noexcept {
    for (uint32_t i = 0; i < size_; ++i) data_[i].~T();
    size_ = 0;
  }
  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void resize(size_t count) {
    reserve(count);
    while (size_ < count) new (data_ + size_++) T();
    while (size_ > count) pop_back();
  }

 private:
  T& at(size_t i) const noexcept {
    FLAMBEAU_ASSERT(i < size_);
    return data_[i];
  }
  T* inline_data() noexcept { return reinterpret_cast<T*>(inline_); }
  bool is_inline() const noexcept { return data_ == reinterpret_cast<const T*>(inline_); }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace_back(*first);
  }
  [[gnu::noinline]] void grow(size_t count) {
    const size_t capacity = count > 2 * size_t{capacity_} ? count : 2 * size_t{capacity_};
    T* data = static_cast<T*>(::operator new(capacity * sizeof(T)));
    for (uint32_t i = 0; i < size_; ++i) {
      new (data + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (!is_inline()) ::operator delete(data_);
    data_ = data;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void drop() noexcept {
    clear();
    if (!is_inline()) ::operator delete(data_);
  }
  /// Assumes that this one holds nothing.
  void take(SmallVector& other) noexcept {
    if (other.is_inline()) {
      data_ = inline_data();
      capacity_ = kInline;
      size_ = other.size_;
      for (uint32_t i = 0; i < size_; ++i) {
        new (data_ + i) T(std::move(other.data_[i]));
        other.data_[i].~T();
      }
    } else {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = other.size_;
      capacity_ = std::exchange(other.capacity_, kInline);
    }
    other.size_ = 0;
  }

  T* data_ = inline_data();
  uint32_t size_ = 0, capacity_ = kInline;
  alignas(T) std::byte inline_[sizeof(T) * kInline];
};

}  // namespace flambeau
