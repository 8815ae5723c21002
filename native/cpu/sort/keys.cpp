#include "cpu/sort/keys.h"

#include <algorithm>
#include <vector>

#include "core/threads/interrupt.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kShort = 256;
constexpr int kDigitBits = 11;
constexpr size_t kBuckets = size_t{1} << kDigitBits;

template <class T>
void sort_by_digits(T* items, T* scratch, int64_t count, int key_bits) {
  const int passes = (key_bits + kDigitBits - 1) / kDigitBits;
  std::vector<int64_t> counts(static_cast<size_t>(passes) * kBuckets, 0);
  in_blocks(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t key = key_of(items[i]);
      for (int pass = 0; pass < passes; ++pass, key >>= kDigitBits) {
        ++counts[static_cast<size_t>(pass) * kBuckets + (key & (kBuckets - 1))];
      }
    }
  });
  T *from = items, *to = scratch;
  for (int pass = 0; pass < passes; ++pass) {
    int64_t* const place = counts.data() + static_cast<size_t>(pass) * kBuckets;
    const int shift = pass * kDigitBits;
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

}  // namespace

void sort_items(uint64_t* items, uint64_t* scratch, int64_t count) {
  if (count <= kShort) return std::sort(items, items + count);
  sort_by_digits(items, scratch, count, 32);
}

void sort_items(WideItem* items, WideItem* scratch, int64_t count) {
  if (count <= 2 * kShort) return std::sort(items, items + count);
  sort_by_digits(items, scratch, count, 64);
}

}  // namespace flambeau::cpu
