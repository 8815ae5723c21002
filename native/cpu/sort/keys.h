#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "core/tensor/tensor.h"
#include "cpu/dtype_switch.h"

/// Sorting works on unsigned keys that order as the values do: NaN last, both zeros equal.
namespace flambeau::cpu {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
FLAMBEAU_INLINE KeyOf<T> order_key(T value) {
  using Key = KeyOf<T>;
  constexpr Key top = Key{1} << (sizeof(Key) * 8 - 1);
  if constexpr (is_half_type<T>) {
    return order_key(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    const Key bits = std::bit_cast<Key>(value + T(0));  // -0 becomes 0
    // All bits of a negative number are turned, the sign of a positive one.
    const auto sign = static_cast<std::make_signed_t<Key>>(bits) >> (sizeof(Key) * 8 - 1);
    return value == value ? bits ^ (static_cast<Key>(sign) | top) : ~Key{0};
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(static_cast<std::make_signed_t<Key>>(value)) ^ top;
  } else {
    return static_cast<Key>(value);
  }
}

/// The value that a key was made of: all zeros are 0, and all NaN are one.
template <class T>
FLAMBEAU_INLINE T value_of(KeyOf<T> key) {
  using Key = KeyOf<T>;
  constexpr Key top = Key{1} << (sizeof(Key) * 8 - 1);
  if constexpr (is_half_type<T>) {
    return T(value_of<float>(key));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(static_cast<Key>(key & top ? key ^ top : ~key));
  } else if constexpr (std::is_same_v<T, Boolean>) {
    return T(key != 0);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<std::make_signed_t<Key>>(key ^ top));
  } else {
    return static_cast<T>(key);
  }
}

/// Whether values that differ in their bits have one key: all zeros, and all NaN, whose key is the
/// largest.
template <class T>
inline constexpr bool has_shared_keys = std::is_floating_point_v<T> || is_half_type<T>;

/// A key and where it stood. Equal keys keep their order, because positions differ.
struct WideItem {
  uint64_t key;
  int64_t position;
  friend bool operator<(const WideItem& a, const WideItem& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};

/// Keys of 32 bits share a word with a position of 32 bits.
template <class Key>
using Item = std::conditional_t<sizeof(Key) == 4, uint64_t, WideItem>;

template <class Key>
FLAMBEAU_INLINE Item<Key> make_item(Key key, int64_t position) {
  if constexpr (sizeof(Key) == 4) {
    return static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(position);
  } else {
    return {key, position};
  }
}
FLAMBEAU_INLINE int64_t position_of(uint64_t item) { return static_cast<uint32_t>(item); }
FLAMBEAU_INLINE int64_t position_of(const WideItem& item) { return item.position; }
FLAMBEAU_INLINE uint64_t key_of(uint64_t item) { return item >> 32; }
FLAMBEAU_INLINE uint64_t key_of(const WideItem& item) { return item.key; }

/// Room for items, not filled, in memory that was used before: pages of new memory take as long as
/// a pass of the sorting.
template <class Item>
class Items {
 public:
  explicit Items(int64_t count)
      : owner_(empty(Shape{count * static_cast<int64_t>(sizeof(Item))}, DType::uint8)) {}
  Item* data() const { return reinterpret_cast<Item*>(owner_.data<uint8_t>()); }

 private:
  Tensor owner_;
};

}  // namespace flambeau::cpu
