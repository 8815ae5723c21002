#include "cpu/sort/key_tree.h"

#include "cpu/sort/packing.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

#if defined(__AVX2__)
/// How many keys of a node, which are in order, are less than that of all lanes.
template <class Key>
FLAMBEAU_INLINE int64_t count_less(const Key* node, Vector<Key> wanted) {
  int64_t less = 0;
#pragma GCC unroll 4
  for (int64_t i = 0; i < KeyTree<Key>::kNode; i += kLanes<Key>)
    less += __builtin_popcount(lanes_above<Key>(wanted, load(node + i)));
  return less;
}

template <class Key>
void find(int64_t* found, const Key* wanted, int64_t count, const Key* tree, const int64_t* levels,
          size_t level_count) {
  for (int64_t i = 0; i < count; i += kTogether) {
    int64_t node[kTogether] = {};
    for (size_t level = level_count; level-- > 0;) {
      const Key* const keys = tree + levels[level];
#pragma GCC unroll 8
      for (int64_t k = 0; k < kTogether; ++k) {
        const int64_t first = node[k] * KeyTree<Key>::kNode;
        node[k] = first + count_less<Key>(keys + first, splat(wanted[i + k]));
      }
    }
    std::copy_n(node, kTogether, found + i);
  }
}
#endif

}  // namespace

template <class Key>
FindLess<Key> find_less() {
#if defined(__AVX2__)
  return &find<Key>;
#else
  return nullptr;
#endif
}
template FindLess<uint32_t> find_less();
template FindLess<uint64_t> find_less();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
