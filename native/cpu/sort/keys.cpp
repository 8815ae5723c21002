#include "cpu/sort/keys.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/threads/interrupt.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kShort = 256;
constexpr int64_t kManyItems = 1 << 14;
constexpr int kDigitBits = 11;
constexpr size_t kBuckets = size_t{1} << kDigitBits;
constexpr int kMostPasses = 3;  // over all items; with more digits the highest ones go first

/// By bits [lowest, highest) of the keys.
template <class T>
void sort_by_digits(T* items, T* scratch, int64_t count, int lowest, int highest) {
  const int passes = (highest - lowest + kDigitBits - 1) / kDigitBits;
  std::vector<int64_t> counts(static_cast<size_t>(passes) * kBuckets, 0);
  in_blocks(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t key = key_of(items[i]) >> lowest;
      for (int pass = 0; pass < passes; ++pass, key >>= kDigitBits) {
        ++counts[static_cast<size_t>(pass) * kBuckets + (key & (kBuckets - 1))];
      }
    }
  });
  T *from = items, *to = scratch;
  for (int pass = 0; pass < passes; ++pass) {
    int64_t* const place = counts.data() + static_cast<size_t>(pass) * kBuckets;
    const int shift = lowest + pass * kDigitBits;
    if (place[key_of(from[0]) >> shift & (kBuckets - 1)] == count) continue;
    int64_t start = 0;
    for (size_t digit = 0; digit < kBuckets; ++digit) {
      const int64_t size = place[digit];
      place[digit] = start;
      start += size;
    }
    in_blocks(count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[place[key_of(from[i]) >> shift & (kBuckets - 1)]++] = from[i];
      }
    });
    std::swap(from, to);
  }
  if (from != items) std::copy_n(from, count, items);
}

/// How many low bits of the keys are not the same in all.
template <class T>
int differing_bits(const T* items, int64_t count) {
  uint64_t seen = 0;
  in_blocks(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) seen |= key_of(items[i]) ^ key_of(items[0]);
  });
  return 64 - std::countl_zero(seen);
}

template <class T>
void sort_wide(T* items, T* scratch, int64_t count) {
  if (count <= 2 * kShort) return std::sort(items, items + count);
  const int highest = differing_bits(items, count);
  const int digits = count > kManyItems ? 2 : 1;
  const int lowest = std::max(0, highest - digits * kDigitBits);
  if (highest <= kMostPasses * kDigitBits) return sort_by_digits(items, scratch, count, 0, highest);
  // Few have the same highest digits.
  sort_by_digits(items, scratch, count, lowest, highest);
  for (int64_t first = 0; first < count;) {
    const uint64_t head = key_of(items[first]) >> lowest;
    int64_t last = first + 1;
    while (last < count && key_of(items[last]) >> lowest == head) ++last;
    if (last - first > 1) sort_wide(items + first, scratch + first, last - first);
    first = last;
  }
}

}  // namespace

void sort_items(uint64_t* items, uint64_t* scratch, int64_t count) {
  if (count <= kShort) return std::sort(items, items + count);
  sort_by_digits(items, scratch, count, 0, 32);
}

void sort_items(WideItem* items, WideItem* scratch, int64_t count) {
  sort_wide(items, scratch, count);
}

void sort_items(KeyItem<uint32_t>* items, KeyItem<uint32_t>* scratch, int64_t count) {
  sort_wide(items, scratch, count);
}

void sort_items(KeyItem<uint64_t>* items, KeyItem<uint64_t>* scratch, int64_t count) {
  sort_wide(items, scratch, count);
}

}  // namespace flambeau::cpu
