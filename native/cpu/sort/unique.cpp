#include <algorithm>
#include <numeric>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "cpu/sort/key_kernels.h"
#include "cpu/sort/ordering.h"
#include "cpu/sort/parts.h"
#include "cpu/sort/run_kernels.h"
#include "cpu/sort/runs.h"
#include "cpu/sort/wide_order.h"
#include "cpu/sort/word_kernels.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

using Unique = std::tuple<Tensor, Tensor, Tensor>;

/// Memory for what is said of runs.
Unique found_runs(const Tensor& self, int64_t runs) {
  return {flambeau::empty(Shape{runs}, self.dtype(), self.device()),
          flambeau::empty(self.sizes(), DType::int64, self.device()),
          flambeau::empty(Shape{runs}, DType::int64, self.device())};
}

/// Runs of equal items, which are in order.
template <class T, class Begins, class ItemAt>
Unique collect(const Tensor& self, const T* data, const ItemAt* items, const Begins& begins) {
  const auto is_first = [&](int64_t i) { return i == 0 || begins(i); };
  const Runs runs(self.numel(), [&](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i) found += is_first(i);
    return found;
  });
  const Unique found = found_runs(self, runs.count());
  const auto& [values, inverse, occurrences] = found;
  int64_t *const run_of = inverse.data<int64_t>(), *const starts = occurrences.data<int64_t>();
  T* const value_of = values.data<T>();
  runs.walk([&](int64_t begin, int64_t end, int64_t run, int64_t) {
    in_blocks(end - begin, [&](int64_t first, int64_t last) {
      for (int64_t i = begin + first; i < begin + last; ++i) {
        const int64_t position = position_of(items[i]);
        if (is_first(i)) {
          starts[run] = i;
          value_of[run++] = data[position];
        }
        run_of[position] = run - 1;
      }
    });
  });
  lengths_of_runs(starts, runs.count(), self.numel());
  return found;
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
  return collect(self, data, items, [&](int64_t i) {
    const uint64_t key = key_of(items[i]);
    // NaN differs from NaN here, as everywhere.
    if constexpr (has_shared_keys<T>)
      if (key == KeyOf<T>(-1)) return true;
    return key != key_of(items[i - 1]);
  });
}

/// Of elements of 64 bits that positions of 32 bits tell apart.
template <class T>
Unique unique_by_order(const Tensor& self, const T* data) {
  const Items<uint64_t> words(2 * self.numel());
  const WideOrder<T> order(data, self.numel(), uint64_t{0}, words.data());
  order.sort();
  return collect(self, data, words.data(),
                 [&](int64_t i) { return !(order.element(i) == order.element(i - 1)); });
}

/// Of keys in order those that differ from the one before, in parts: each part has its own in
/// to[0, count), where a part of the keys begins in `to`.
template <class Key>
std::vector<int64_t> distinct_parts(Key* to, const Key* keys, int64_t count, int64_t parts) {
  std::vector<int64_t> counts(static_cast<size_t>(parts));
  over_parts(count, parts, [&](int64_t part, int64_t begin, int64_t end) {
    int64_t& found = counts[static_cast<size_t>(part)];
    in_blocks(end - begin, [&](int64_t first, int64_t last) {
      found += word_kernels<Key>().distinct(to + begin + found, keys, begin + first, begin + last);
    });
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
    in_blocks(*at, [&](int64_t first, int64_t last) {
      key_kernels<T>().values(out + start + first, found + begin + first, last - first, Key{0});
    });
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

template <class T>
Runs runs_of(const T* data, int64_t numel) {
  return {numel,
          [data](int64_t begin, int64_t end) { return run_kernels<T>().count(data, begin, end); }};
}

template <class T>
void write_values(const Runs& runs, T* values, const T* data) {
  runs.walk([&](int64_t begin, int64_t end, int64_t run, int64_t last) {
    run_kernels<T>().values(values + run, last - run, data, begin, end);
  });
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
    if (!fits) return unique_by_keys<T, uint64_t>(self, data);
    if constexpr (sizeof(KeyOf<T>) == 8) return unique_by_order<T>(self, data);
    return unique_by_keys<T, KeyOf<T>>(self, data);
  });
}

Unique unique_runs(const Tensor& self) {
  const Tensor dense = contiguous_data(self);
  return visit_stored_dtype(self.dtype(), [&]<class T>() -> Unique {
    const T* const data = dense.data<T>();
    const Runs runs = runs_of(data, self.numel());
    const Unique found = found_runs(self, runs.count());
    const auto& [values, inverse, occurrences] = found;
    int64_t *const run_of = inverse.data<int64_t>(), *const starts = occurrences.data<int64_t>();
    write_values(runs, values.data<T>(), data);
    runs.walk([&](int64_t begin, int64_t end, int64_t run, int64_t last) {
      run_kernels<T>().places(run_of, starts, run, last, data, begin, end);
    });
    lengths_of_runs(starts, runs.count(), self.numel());
    return found;
  });
}

Tensor run_values(const Tensor& self) {
  const Tensor dense = contiguous_data(self);
  return visit_stored_dtype(self.dtype(), [&]<class T>() -> Tensor {
    const T* const data = dense.data<T>();
    const Runs runs = runs_of(data, self.numel());
    const Tensor values = flambeau::empty(Shape{runs.count()}, self.dtype(), self.device());
    write_values(runs, values.data<T>(), data);
    return values;
  });
}

}  // namespace flambeau::cpu
