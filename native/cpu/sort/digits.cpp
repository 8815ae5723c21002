#include "cpu/sort/digits.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/threads/interrupt.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kShort = 256;
constexpr int64_t kManyItems = 1 << 14;
constexpr size_t kBuckets = size_t{1} << kDigitBits;
// Each of so many may be the first in its page, which the system then clears.
constexpr int64_t kScattered = 32;
constexpr int kMostPasses = 3;  // over all items; with more digits the highest ones go first

/// What words are sorted by: as they are, or items by the key that they hold.
struct Whole {
  uint64_t operator()(uint64_t word) const { return word; }
};
struct Key {
  template <class Item>
  uint64_t operator()(const Item& item) const {
    return key_of(item);
  }
};

/// By bits [lowest, highest) of the keys.
template <class T, class KeyOfItem>
void by_digits(T* items, T* scratch, int64_t count, int lowest, int highest, KeyOfItem key) {
  const int passes = (highest - lowest + kDigitBits - 1) / kDigitBits;
  std::vector<int64_t> counts(static_cast<size_t>(passes) * kBuckets, 0);
  in_blocks(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t rest = key(items[i]) >> lowest;
      for (int pass = 0; pass < passes; ++pass, rest >>= kDigitBits) {
        ++counts[static_cast<size_t>(pass) * kBuckets + (rest & (kBuckets - 1))];
      }
    }
  });
  T *from = items, *to = scratch;
  for (int pass = 0; pass < passes; ++pass) {
    int64_t* const place = counts.data() + static_cast<size_t>(pass) * kBuckets;
    const int shift = lowest + pass * kDigitBits;
    if (place[key(from[0]) >> shift & (kBuckets - 1)] == count) continue;
    int64_t start = 0;
    for (size_t digit = 0; digit < kBuckets; ++digit) {
      const int64_t size = place[digit];
      place[digit] = start;
      start += size;
    }
    in_blocks<kScattered>(count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[place[key(from[i]) >> shift & (kBuckets - 1)]++] = from[i];
      }
    });
    std::swap(from, to);
  }
  if (from != items) std::copy_n(from, count, items);
}

template <class T, class KeyOfItem>
int different(const T* items, int64_t count, int enough, KeyOfItem key) {
  constexpr int64_t kPiece = 1024;
  uint64_t seen = 0;
  for (int64_t begin = 0; begin < count && 64 - std::countl_zero(seen) < enough; begin += kPiece) {
    check_interrupt();
    const int64_t end = std::min(count, begin + kPiece);
    for (int64_t i = begin; i < end; ++i) seen |= key(items[i]) ^ key(items[0]);
  }
  return 64 - std::countl_zero(seen);
}

template <class T, class KeyOfItem>
void sort_wide(T* items, T* scratch, int64_t count, KeyOfItem key) {
  if (count <= 2 * kShort) return std::sort(items, items + count);
  const int highest = different(items, count, 64, key);
  const int digits = count > kManyItems ? 2 : 1;
  const int lowest = std::max(0, highest - digits * kDigitBits);
  if (highest <= kMostPasses * kDigitBits) return by_digits(items, scratch, count, 0, highest, key);
  // Few have the same highest digits.
  by_digits(items, scratch, count, lowest, highest, key);
  for (int64_t first = 0; first < count;) {
    check_interrupt();
    const uint64_t head = key(items[first]) >> lowest;
    int64_t last = first + 1;
    while (last < count && key(items[last]) >> lowest == head) ++last;
    if (last - first > 1) sort_wide(items + first, scratch + first, last - first, key);
    first = last;
  }
}

}  // namespace

int differing_bits(const uint32_t* keys, int64_t count, int enough) {
  return different(keys, count, enough, Whole());
}
int differing_bits(const uint64_t* keys, int64_t count, int enough) {
  return different(keys, count, enough, Whole());
}

void sort_by_digits(uint32_t* keys, uint32_t* scratch, int64_t count) {
  sort_wide(keys, scratch, count, Whole());
}
void sort_by_digits(uint64_t* keys, uint64_t* scratch, int64_t count) {
  sort_wide(keys, scratch, count, Whole());
}
void sort_by_digits(WideItem* items, WideItem* scratch, int64_t count) {
  sort_wide(items, scratch, count, Key());
}
void sort_items_by_digits(uint64_t* items, uint64_t* scratch, int64_t count) {
  if (count <= kShort) return std::sort(items, items + count);
  by_digits(items, scratch, count, 0, 32, Key());
}

}  // namespace flambeau::cpu
