#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/sort/key_kernels.h"
#include "cpu/sort/ordering.h"
#include "cpu/sort/parts.h"
#include "cpu/sort/sample.h"
#include "cpu/sort/word_kernels.h"

/// What stands at a rank in the order of a row, without the order.
namespace flambeau::cpu {

/// How many elements of a row lie below a range of keys, and how many in it.
struct Counted {
  int64_t below = 0, inside = 0;
};

/// Lists the elements [begin, end) of a row whose keys are in [low, high].
template <class T>
Counted list_part(const T* row, int64_t begin, int64_t end, KeyOf<T> flip, KeyOf<T> low,
                  KeyOf<T> high, Item<KeyOf<T>>* items) {
  using Key = KeyOf<T>;
  constexpr int64_t kBlock = 2048;
  Key keys[kBlock], places[kBlock];
  Counted counted;
  for (; begin < end; begin += kBlock) {
    check_interrupt();
    const int64_t length = std::min(kBlock, end - begin);
    key_kernels<T>().keys(keys, row + begin, length, flip);
    const int64_t found =
        word_kernels<Key>().find(places, keys, length, 0, low, high, counted.below);
    for (int64_t i = 0; i < found; ++i) {
      const int64_t place = static_cast<int64_t>(places[i]);
      items[counted.inside++] = make_item<Key>(keys[place], begin + place);
    }
  }
  return counted;
}

/// Lists the elements of a row whose keys are in [low, high], in order of position. There is room
/// for `length` items.
template <class T>
Counted list_between(const T* row, int64_t length, KeyOf<T> flip, KeyOf<T> low, KeyOf<T> high,
                     Item<KeyOf<T>>* items) {
  const int64_t parts = parts_of_row(length);
  if (parts == 1) return list_part(row, 0, length, flip, low, high, items);
  std::vector<Counted> counted(static_cast<size_t>(parts));
  over_parts(length, parts, [&](int64_t part, int64_t begin, int64_t end) {
    counted[static_cast<size_t>(part)] = list_part(row, begin, end, flip, low, high, items + begin);
  });
  Counted all;
  for (int64_t part = 0; part < parts; ++part) {
    const auto& [below, inside] = counted[static_cast<size_t>(part)];
    std::copy_n(items + length * part / parts, inside, items + all.inside);
    all.below += below;
    all.inside += inside;
  }
  return all;
}

/// The item of a rank in order; items and `spare` are in no order then.
inline uint64_t select_item(uint64_t* items, uint64_t* spare, int64_t count, int64_t rank) {
  return word_kernels<uint64_t>().select(items, spare, count, rank);
}
inline WideItem select_item(WideItem* items, WideItem*, int64_t count, int64_t rank) {
  constexpr uint32_t kMany = 1 << 20;
  uint32_t compared = 0;
  std::nth_element(items, items + rank, items + count, [&](const auto& a, const auto& b) {
    if (++compared % kMany == 0) check_interrupt();
    return a < b;
  });
  return items[rank];
}

/// Rows of which a sample is worth sorting.
inline constexpr int64_t kLongRow = 1 << 13;

/// Keys that the one of a rank lies between, but for one row in some thousands: of a sample those
/// whose ranks are four standard deviations away.
template <class T>
std::pair<KeyOf<T>, KeyOf<T>> keys_around(const T* row, int64_t length, int64_t rank,
                                          KeyOf<T> flip) {
  using Key = KeyOf<T>;
  const int64_t size = std::clamp<int64_t>(length / 256, 256, 1 << 14);
  const auto margin = static_cast<int64_t>(2 * std::sqrt(static_cast<double>(size)));
  std::vector<T> sample(static_cast<size_t>(size));
  const Items<Key> memory(2 * size);
  Key* const keys = memory.data();
  for (int64_t i = 0; i < size; ++i)
    sample[static_cast<size_t>(i)] = row[sample_place(i, size, length)];
  key_kernels<T>().keys(keys, sample.data(), size, flip);
  sort_keys(keys, keys + size, size);
  const auto at = static_cast<int64_t>(static_cast<double>(rank) / static_cast<double>(length) *
                                       static_cast<double>(size));
  return {at < margin ? Key{0} : keys[at - margin],
          at + margin < size ? keys[at + margin] : ~Key{0}};
}

/// The item of a rank in the order of a row; there is room for 2 * length items.
template <class T>
Item<KeyOf<T>> item_at_rank(const T* row, int64_t length, int64_t rank, KeyOf<T> flip,
                            Item<KeyOf<T>>* items) {
  using Key = KeyOf<T>;
  if (length >= kLongRow) {
    const auto [low, high] = keys_around(row, length, rank, flip);
    const auto [below, inside] = list_between(row, length, flip, low, high, items);
    if (below <= rank && rank < below + inside) {
      if (low == high) return items[rank - below];  // listed in order of position
      return select_item(items, items + length, inside, rank - below);
    }
  }
  list_between(row, length, flip, Key{0}, ~Key{0}, items);
  return select_item(items, items + length, length, rank);
}

}  // namespace flambeau::cpu
