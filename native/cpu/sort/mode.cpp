#include <algorithm>

#include "cpu/sort/key_kernels.h"
#include "cpu/sort/ordering.h"
#include "cpu/sort/rows_of_dim.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// Of keys from `low` on that fit a table of `count` numbers.
template <class Key>
Key most_counted(const Key* keys, Key* table, int64_t count, Key low, Key high) {
  std::fill(table, table + (high - low) + 1, Key{0});
  for (int64_t i = 0; i < count; ++i) ++table[keys[i] - low];
  return static_cast<Key>(low + (std::max_element(table, table + (high - low) + 1) - table));
}

/// Of keys in order: where a run is longer than those before, its next key equals one that stands
/// as far before it as the longest of them is long.
template <class Key>
Key longest_run(const Key* keys, int64_t count) {
  int64_t longest = 0;
  Key found = keys[0];
  for (int64_t i = 0; i < count; ++i) {
    if (keys[i] != keys[i - longest]) continue;
    found = keys[i];
    ++longest;
  }
  return found;
}

/// The key that stands most often in a row, the smallest of several; `spare` is as long. Keys are
/// in no order then.
template <class Key>
Key most_frequent(Key* keys, Key* spare, int64_t count) {
  Key low = keys[0], high = keys[0];
  for (int64_t i = 1; i < count; ++i) {
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i]);
  }
  if (high - low < static_cast<Key>(count)) return most_counted(keys, spare, count, low, high);
  sort_keys(keys, spare, count);
  return longest_run(keys, count);
}

}  // namespace

void mode(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim, bool) {
  if (self.numel() == 0) return;
  for_rows(self, dim, 1, "mode",
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             using Key = KeyOf<T>;
             const Items<Key> memory(2 * length);
             Key* const keys = memory.data();
             for (int64_t number = begin; number < end; ++number) {
               const T* const row = from + number * length;
               key_kernels<T>().keys(keys, row, length, Key{0});
               const Key found = most_frequent(keys, keys + length, length);
               int64_t last = length - 1;
               while (order_key(row[last]) != found) --last;
               indices.data<int64_t>()[place(number, 0)] = last;
               values.data<T>()[place(number, 0)] = row[last];
             }
           });
}

}  // namespace flambeau::cpu
