#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/sort/keys.h"

namespace flambeau::cpu {

/// Between elements and what they are sorted by, compiled once per instruction set. `flip` is
/// combined with each key: all ones for a descending order.
template <class T>
struct KeyKernels {
  using Key = KeyOf<T>;
  void (*keys)(Key* to, const T* from, int64_t count, Key flip);
  void (*values)(T* to, const Key* keys, int64_t count, Key flip);
  /// Items of elements that stand at `first` and behind.
  void (*items)(Item<Key>* to, const T* from, int64_t first, int64_t count, Key flip);
  /// Elements, if `to` is not nullptr, and where they stood.
  void (*split)(T* to, int64_t* positions, const Item<Key>* items, int64_t count, Key flip);
};

FLAMBEAU_IN_EACH_SET(template <class T> const KeyKernels<T>& key_kernels();)

/// The kernels for the processor at hand.
template <class T>
const KeyKernels<T>& key_kernels() {
  static const KeyKernels<T>& best = FLAMBEAU_PICK(key_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
