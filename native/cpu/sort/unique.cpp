#include <algorithm>
#include <numeric>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "cpu/sort/key_kernels.h"
#include "cpu/sort/ordering.h"
#include "cpu/sort/parts.h"
#include "cpu/sort/word_kernels.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

using Unique = std::tuple<Tensor, Tensor, Tensor>;

/// Runs of equal elements: the i-th of them in order stands at position(i) of the tensor, and
/// begins a run where begins(i), i > 0.
template <class T, class Position, class Begins>
Unique collect(const Tensor& self, const T* data, const Position& position, const Begins& begins) {
  const int64_t numel = self.numel();
  const Tensor inverse = flambeau::empty(self.sizes(), DType::int64, self.device());
  const Tensor starts_owner = flambeau::empty(Shape{numel + 1}, DType::int64, self.device());
  int64_t *const run_of = inverse.data<int64_t>(), *const starts = starts_owner.data<int64_t>();
  int64_t runs = 0;
  in_blocks(numel, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      if (i == 0 || begins(i)) starts[runs++] = i;
      run_of[position(i)] = runs - 1;
    }
  });
  starts[runs] = numel;
  const Tensor values = flambeau::empty(Shape{runs}, self.dtype(), self.device());
  const Tensor occurrences = flambeau::empty(Shape{runs}, DType::int64, self.device());
  for (int64_t run = 0; run < runs; ++run) {
    values.data<T>()[run] = data[position(starts[run])];
    occurrences.data<int64_t>()[run] = starts[run + 1] - starts[run];
  }
  return {values, inverse, occurrences};
}

template <class T, class Key>
Unique unique_by_keys(const Tensor& self, const T* data) {
  const int64_t numel = self.numel();
  const Items<Item<Key>> memory(2 * numel);
  auto* const items = memory.data();
  over_row(numel, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      items[i] = make_item<Key>(static_cast<Key>(order_key(data[i])), i);
  });
  sort_items(items, items + numel, numel);
  const auto position = [&](int64_t i) { return position_of(items[i]); };
  return collect<T>(self, data, position, [&](int64_t i) {
    const uint64_t key = key_of(items[i]);
    // NaN differs from NaN here, as everywhere.
    if constexpr (has_shared_keys<T>)
      if (key == KeyOf<T>(-1)) return true;
    return key != key_of(items[i - 1]);
  });
}

/// Of keys in order those that differ from the one before, in parts: each part has its own in
/// to[0, count), where a part of the keys begins in `to`.
template <class Key>
std::vector<int64_t> distinct_parts(Key* to, const Key* keys, int64_t count, int64_t parts) {
  std::vector<int64_t> counts(static_cast<size_t>(parts));
  over_parts(count, parts, [&](int64_t part, int64_t begin, int64_t end) {
    counts[static_cast<size_t>(part)] = word_kernels<Key>().distinct(to + begin, keys, begin, end);
  });
  return counts;
}

/// The elements of which the one before has another key, once they are in order.
template <class T>
Tensor distinct(const Tensor& self, const T* data) {
  using Key = KeyOf<T>;
  const int64_t numel = self.numel();
  const Items<Key> memory(2 * numel);
  Key *const keys = memory.data(), *const found = keys + numel;
  over_row(numel, [&](int64_t begin, int64_t end) {
    key_kernels<T>().keys(keys + begin, data + begin, end - begin, Key{0});
  });
  sort_keys(keys, found, numel);
  // NaN differs from NaN: each counts.
  const int64_t numbers =
      has_shared_keys<T> ? std::lower_bound(keys, keys + numel, ~Key{0}) - keys : numel;
  const int64_t parts = parts_of_row(numbers);
  const std::vector<int64_t> counts = distinct_parts(found, keys, numbers, parts);
  const int64_t count = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const Tensor result =
      flambeau::empty(Shape{count + (numel - numbers)}, self.dtype(), self.device());
  T* const out = result.data<T>();
  over_parts(numbers, parts, [&](int64_t part, int64_t begin, int64_t) {
    const auto at = counts.begin() + part;
    const int64_t start = std::accumulate(counts.begin(), at, int64_t{0});
    key_kernels<T>().values(out + start, found + begin, *at, Key{0});
  });
  if constexpr (has_shared_keys<T>) {
    key_kernels<T>().values(out + count, keys + numbers, numel - numbers, Key{0});
    // Of zeros the first one, with its sign.
    T* const zero = std::lower_bound(out, out + count, T(0.f));
    if (zero == out + count || !(*zero == T(0.f))) return result;
    const T* const first = std::find(data, data + numel, T(0.f));
    if (first < data + numel) *zero = *first;
  }
  return result;
}

}  // namespace

Tensor unique_values(const Tensor& self, bool) {
  const Tensor dense = contiguous_data(self);
  return visit_stored_ordered_dtype(self.dtype(), "unique", [&]<class T>() -> Tensor {
    return distinct<T>(self, dense.data<T>());
  });
}

Unique unique_elements(const Tensor& self, bool) {
  const Tensor dense = contiguous_data(self);
  const bool fits = dense.numel() < int64_t{1} << 32;  // positions, beside keys of 32 bits
  return visit_stored_ordered_dtype(self.dtype(), "unique", [&]<class T>() -> Unique {
    const T* const data = dense.data<T>();
    return fits ? unique_by_keys<T, KeyOf<T>>(self, data) : unique_by_keys<T, uint64_t>(self, data);
  });
}

Unique unique_runs(const Tensor& self) {
  const Tensor dense = contiguous_data(self);
  return visit_stored_dtype(self.dtype(), [&]<class T>() -> Unique {
    const T* const data = dense.data<T>();
    const auto position = [](int64_t i) { return i; };
    return collect<T>(self, data, position, [&](int64_t i) { return !(data[i - 1] == data[i]); });
  });
}

}  // namespace flambeau::cpu
