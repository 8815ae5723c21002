#pragma once

#include <algorithm>
#include <vector>

#include "core/backends/instruction_set.h"
#include "cpu/sort/keys.h"

namespace flambeau::cpu {

/// Searches that go on at once: each waits for memory and for its comparisons.
inline constexpr int64_t kTogether = 8;
/// The most searches of one call.
inline constexpr int64_t kSearches = 8 * kTogether;

/// Sorted keys in nodes of one line of cache, and above them the largest keys of the nodes, in
/// nodes again, up to one node: a search reads a line for each level, and compares all of it at
/// once.
template <class Key>
class KeyTree {
 public:
  static constexpr int64_t kNode = 64 / sizeof(Key);

  /// For `length` keys, at least 1, that fill() has to write.
  explicit KeyTree(int64_t length) : length_(length) {
    for (int64_t size = length, begin = 0;;) {
      levels_.push_back(begin);
      const int64_t nodes = (size + kNode - 1) / kNode;
      begin += nodes * kNode;
      if (nodes == 1) {
        size_ = begin;
        return;
      }
      size = nodes;
    }
  }
  int64_t length() const { return length_; }
  /// Of the memory of a tree, in keys.
  int64_t size() const { return size_; }
  /// Where levels begin in it, that of all keys first.
  const std::vector<int64_t>& levels() const { return levels_; }

  /// Writes levels over the first, whose keys stand in memory. A search ends in the last node of a
  /// level at the latest: where nothing is left to compare with, the largest key stands.
  void fill(Key* keys) const {
    constexpr Key largest = ~Key{0};
    std::fill(keys + length_, keys + (length_ + kNode - 1) / kNode * kNode, largest);
    for (size_t level = 1; level < levels_.size(); ++level) {
      const Key* const nodes = keys + levels_[level - 1];
      Key* const to = keys + levels_[level];
      const int64_t count = (levels_[level] - levels_[level - 1]) / kNode;
      for (int64_t node = 0; node + 1 < count; ++node) to[node] = nodes[(node + 1) * kNode - 1];
      const int64_t end = (level + 1 < levels_.size() ? levels_[level + 1] : size_);
      std::fill(to + count - 1, keys + end, largest);
    }
  }

 private:
  int64_t length_, size_ = 0;
  std::vector<int64_t> levels_;
};

/// For each of `count` keys, or a few more up to whole sets of kTogether, how many of a tree are
/// less.
template <class Key>
using FindLess = void (*)(int64_t* found, const Key* wanted, int64_t count, const Key* tree,
                          const int64_t* levels, size_t level_count);

/// nullptr where the instruction set does not compare vectors of words.
FLAMBEAU_IN_EACH_SET(template <class Key> FindLess<Key> find_less();)

}  // namespace flambeau::cpu
