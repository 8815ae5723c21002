#include <algorithm>

#include "cpu/blocks.h"
#include "cpu/sort/key_kernels.h"
#include "cpu/sort/selection.h"
#include "cpu/sort/wide_order.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// A row to be sorted: where it is, and where elements and positions go, some elements apart;
/// nullptr where they are not wanted.
template <class T>
struct SortedRow {
  const T* from;
  int64_t length;
  T* values;
  int64_t* positions;
  int64_t value_step, position_step;
  KeyOf<T> flip;
};

/// Elements that differ although their keys are equal, zeros and NaN, follow each other: `rewrite`
/// is called with each such key that is in the row, and where its elements begin and end.
template <class T, class KeyAt, class Rewrite>
void over_shared(const SortedRow<T>& row, const KeyAt& key_at, const Rewrite& rewrite) {
  if constexpr (has_shared_keys<T>) {
    const auto count_before = [&](const auto& is_before) {
      int64_t begin = 0, end = row.length;
      while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (is_before(key_at(middle))) {
          begin = middle + 1;
        } else {
          end = middle;
        }
      }
      return begin;
    };
    for (const KeyOf<T> shared : {order_key(T(0.f)), ~KeyOf<T>{0}}) {
      const KeyOf<T> key = shared ^ row.flip;
      const int64_t begin = count_before([&](KeyOf<T> other) { return other < key; });
      const int64_t end = count_before([&](KeyOf<T> other) { return other <= key; });
      if (begin < end) rewrite(key, begin, end);
    }
  }
}

/// Elements that stand where items say, as values from `begin` on.
template <class T>
void copy_values(const SortedRow<T>& row, int64_t begin, int64_t count,
                 const Item<KeyOf<T>>* items) {
  for (int64_t i = 0; i < count; ++i)
    row.values[(begin + i) * row.value_step] = row.from[position_of(items[i])];
}

/// Positions, and elements if they are wanted.
template <class T>
void sort_with_positions(const SortedRow<T>& row) {
  using Key = KeyOf<T>;
  const auto& kernels = key_kernels<T>();
  const Items<Item<Key>> memory(2 * row.length);
  auto* const items = memory.data();
  const auto key_at = [&](int64_t i) { return static_cast<Key>(key_of(items[i])); };
  over_row(row.length, [&](int64_t begin, int64_t end) {
    kernels.items(items + begin, row.from + begin, begin, end - begin, row.flip);
  });
  const bool is_dense = row.position_step == 1 && row.value_step == 1;
  sort_items(items, items + row.length, row.length, [&](int64_t begin, int64_t end) {
    if (is_dense) {
      T* const values = row.values ? row.values + begin : nullptr;
      return kernels.split(values, row.positions + begin, items + begin, end - begin, row.flip);
    }
    for (int64_t i = begin; i < end; ++i) {
      row.positions[i * row.position_step] = position_of(items[i]);
      // Keys are at hand, in order; the elements of a long row are not.
      if (row.values) row.values[i * row.value_step] = value_of<T>(key_at(i) ^ row.flip);
    }
  });
  if (!row.values) return;
  over_shared(row, key_at, [&](Key, int64_t begin, int64_t end) {
    copy_values(row, begin, end - begin, items + begin);
  });
}

template <class T>
void sort_wide_with_positions(const SortedRow<T>& row) {
  const Items<uint64_t> memory(2 * row.length);
  const WideOrder<T> order(row.from, row.length, row.flip, memory.data());
  order.sort([&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row.positions[i * row.position_step] = order.position(i);
    if (!row.values) return;
    for (int64_t i = begin; i < end; ++i) row.values[i * row.value_step] = order.element(i);
  });
}

template <class T>
void sort_alone(const SortedRow<T>& row) {
  using Key = KeyOf<T>;
  const auto& kernels = key_kernels<T>();
  const Items<Key> memory(2 * row.length);
  Key* const keys = memory.data();
  over_row(row.length, [&](int64_t begin, int64_t end) {
    kernels.keys(keys + begin, row.from + begin, end - begin, row.flip);
  });
  sort_keys(keys, keys + row.length, row.length, [&](int64_t begin, int64_t end) {
    if (row.value_step == 1)
      return kernels.values(row.values + begin, keys + begin, end - begin, row.flip);
    for (int64_t i = begin; i < end; ++i)
      row.values[i * row.value_step] = value_of<T>(keys[i] ^ row.flip);
  });
  over_shared(
      row, [&](int64_t i) { return keys[i]; },
      [&](Key key, int64_t begin, int64_t end) {
        const Items<Item<Key>> found(row.length);
        const Counted counted =
            list_between(row.from, row.length, row.flip, key, key, found.data());
        copy_values(row, begin, std::min(end - begin, counted.inside), found.data());
      });
}

/// Sorts each row of `dim` and writes elements and where they stood, or one of both; what is not
/// wanted is undefined. Rows are shared out over threads.
void sort_rows(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim,
               bool descending, const char* op) {
  if (self.numel() == 0) return;
  const Tensor source = rows_along(self, dim);
  const bool is_placed = indices.defined();
  const Tensor sorted = view_with_dim_last(values.defined() ? values : indices, dim);
  const Tensor places = is_placed ? view_with_dim_last(indices, dim) : sorted;
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim), count = self.numel() / length;
  check(length < int64_t{1} << 32, ErrorKind::runtime, op, "(): a dim of size ", length,
        " is too long to be sorted");
  const Rows<2> rows(sorted.sizes(), {IntList(sorted.strides()), IntList(places.strides())});
  visit_stored_ordered_dtype(self.dtype(), op, [&]<class T>() {
    using Key = KeyOf<T>;
    T* const out = values.defined() ? sorted.data<T>() : nullptr;
    int64_t* const where = is_placed ? places.data<int64_t>() : nullptr;
    const int64_t grain = std::max<int64_t>(1, kGrain / 16 / length);
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      const T* from = source.data<T>() + begin * length;
      rows.walk(begin, end, [&](const std::array<int64_t, 2>& at) {
        const SortedRow<T> row{from,
                               length,
                               out ? out + at[0] : nullptr,
                               where ? where + at[1] : nullptr,
                               rows.step(0),
                               rows.step(1),
                               descending ? ~Key{0} : Key{0}};
        if (!where) {
          sort_alone(row);
        } else if constexpr (sizeof(Key) == 8) {
          sort_wide_with_positions(row);
        } else {
          sort_with_positions(row);
        }
        from += length;
      });
    });
  });
}

}  // namespace

void sort(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim, bool descending,
          bool) {
  sort_rows(values, indices, self, dim, descending, "sort");
}

void argsort(const Tensor& result, const Tensor& self, Dim dim, bool descending, bool) {
  sort_rows(Tensor(), result, self, dim, descending, "argsort");
}

void sorted_values(const Tensor& result, const Tensor& self, Dim dim, bool descending) {
  sort_rows(result, Tensor(), self, dim, descending, "sort");
}

}  // namespace flambeau::cpu
