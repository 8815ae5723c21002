#include <algorithm>
#include <optional>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "cpu/sort/keys.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// Up to this many, a heap of the best so far beats partitioning the row.
constexpr int64_t kHeap = 64;

/// Puts the item of that rank in its place, smaller ones before it.
template <class Item>
void select_rank(Item* items, int64_t rank, int64_t count) {
  constexpr uint32_t kLong = 1 << 20;
  if (count < kLong) return std::nth_element(items, items + rank, items + count);
  uint32_t compared = 0;
  std::nth_element(items, items + rank, items + count, [&](const Item& a, const Item& b) {
    if (++compared % kLong == 0) check_interrupt();
    return a < b;
  });
}

/// The k smallest items of a row, in order, into `best`.
template <class T, class Key>
void smallest(const T* data, int64_t length, int64_t k, Key flip, std::vector<Item<Key>>& best,
              std::optional<Items<Item<Key>>>& all) {
  const auto item = [&](int64_t i) { return make_item<Key>(order_key(data[i]) ^ flip, i); };
  if (k <= kHeap && k < length) {
    best.clear();
    for (int64_t i = 0; i < k; ++i) best.push_back(item(i));
    std::make_heap(best.begin(), best.end());
    in_blocks(length - k, [&](int64_t begin, int64_t end) {
      for (int64_t i = k + begin; i < k + end; ++i) {
        const Item<Key> next = item(i);
        if (!(next < best.front())) continue;
        std::pop_heap(best.begin(), best.end());
        best.back() = next;
        std::push_heap(best.begin(), best.end());
      }
    });
    std::sort_heap(best.begin(), best.end());
    return;
  }
  if (!all) all.emplace(length + k);  // for all rows
  auto* const items = all->data();
  in_blocks(length, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) items[i] = item(i);
  });
  if (k < length) select_rank(items, k, length);
  sort_items(items, items + length, k);
  best.assign(items, items + k);
}

/// The item at `rank` in the order of a row. Of a long row only the items are listed that share
/// their first digit with it.
template <class T, class Key>
Item<Key> item_at_rank(const T* data, int64_t length, int64_t rank, std::vector<Item<Key>>& items) {
  constexpr int kDigit = 11, kShift = sizeof(Key) * 8 - kDigit, kTables = 4;
  items.clear();
  if (length < 4 << kDigit) {
    for (int64_t i = 0; i < length; ++i) items.push_back(make_item<Key>(order_key(data[i]), i));
  } else {
    // Several tables: equal digits in a row would wait for each other.
    uint32_t counts[kTables][1 << kDigit] = {};
    in_blocks(length, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++counts[i % kTables][order_key(data[i]) >> kShift];
    });
    Key digit = 0;
    for (;; ++digit) {
      int64_t count = 0;
      for (const auto& table : counts) count += table[digit];
      if (rank < count) break;
      rank -= count;
    }
    in_blocks(length, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Key key = order_key(data[i]);
        if (key >> kShift == digit) items.push_back(make_item<Key>(key, i));
      }
    });
  }
  select_rank(items.data(), rank, static_cast<int64_t>(items.size()));
  return items[static_cast<size_t>(rank)];
}

/// Where the first NaN of a row stands; -1: there is none.
template <class T>
int64_t first_nan(const T* data, int64_t length) {
  if constexpr (std::is_floating_point_v<T> || is_half_type<T>) {
    const auto is_nan = [](T value) {
      const auto wide = static_cast<Collected<T>>(value);
      return wide != wide;
    };
    const T* const found = std::find_if(data, data + length, is_nan);
    return found == data + length ? -1 : found - data;
  }
  return -1;
}

/// Calls body<T>(rows' data, begin, end, length, place) for ranges of rows along `dim`; place(row,
/// i) is where element i of a row's result goes, in a dense result with `written` elements at
/// `dim`.
template <class Body>
void for_rows(const Tensor& self, Dim dim, int64_t written, const char* op, const Body& body) {
  const Tensor source = rows_along(self, dim);
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim);
  const int64_t count = length == 0 ? 0 : self.numel() / length;
  check(length < int64_t{1} << 32, ErrorKind::runtime, op, "(): a dim of size ", length,
        " is too long");
  const DimBlocks blocks(self.sizes(), dim);
  visit_ordered_dtype(self.dtype(), op, [&]<class T>() {
    const T* const from = source.data<T>();
    const int64_t grain = std::max<int64_t>(1, kGrain / 8 / std::max<int64_t>(1, length));
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      body.template operator()<T>(from, begin, end, length, [&](int64_t row, int64_t i) {
        return (row / blocks.inner * written + i) * blocks.inner + row % blocks.inner;
      });
    });
  });
}

}  // namespace

void topk(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t k, Dim dim,
          bool largest, bool) {
  if (values.numel() == 0) return;
  if (self.dim() == 0) k = 1;  // the results are 0-d too, and hold the one element for any k
  for_rows(self, dim, k, "topk",
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             using Key = KeyOf<T>;
             std::vector<Item<Key>> best;
             std::optional<Items<Item<Key>>> all;
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               smallest<T, Key>(data, length, k, largest ? ~Key{0} : Key{0}, best, all);
               for (int64_t i = 0; i < k; ++i) {
                 const int64_t position = position_of(best[static_cast<size_t>(i)]);
                 const int64_t at = place(row, i);
                 indices.data<int64_t>()[at] = position;
                 values.data<T>()[at] = data[position];
               }
             }
           });
}

void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t k, Dim dim,
              bool) {
  if (self.numel() == 0) return;
  for_rows(self, dim, 1, "kthvalue",
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             using Key = KeyOf<T>;
             std::vector<Item<Key>> items;
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               const int64_t position =
                   position_of(item_at_rank<T, Key>(data, length, k - 1, items));
               indices.data<int64_t>()[place(row, 0)] = position;
               values.data<T>()[place(row, 0)] = data[position];
             }
           });
}

void median_position(const Tensor& result, const Tensor& self, Dim dim, bool) {
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  check(size > 0 || result.numel() == 0, ErrorKind::index, "median(): dim ", dim, " of shape ",
        self.sizes(), " has no elements");
  if (self.numel() == 0) return;
  for_rows(self, dim, 1, "median",
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             using Key = KeyOf<T>;
             std::vector<Item<Key>> items;
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               int64_t position = first_nan(data, length);
               if (position < 0) {
                 position =
                     position_of(item_at_rank<T, Key>(data, length, (length - 1) / 2, items));
               }
               result.data<int64_t>()[place(row, 0)] = position;
             }
           });
}

void median(const Tensor& result, const Tensor& self) {
  if (self.numel() == 0) return fill_data(result, std::numeric_limits<double>::quiet_NaN());
  const Tensor dense = contiguous_data(self);
  const Tensor row = make_view(dense, Shape{dense.numel()}, Shape{1}, dense.offset());
  const Tensor place = flambeau::empty(Shape(), DType::int64, self.device());
  median_position(place, row, Dim(0, 1, {"median", "dim"}), false);
  const int64_t offset = row.offset() + *place.data<int64_t>();
  copy_data(result, make_view(row, Shape(), Shape(), offset));
}

}  // namespace flambeau::cpu
