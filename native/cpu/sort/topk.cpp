#include <algorithm>
#include <optional>
#include <vector>

#include "cpu/sort/rows_of_dim.h"
#include "cpu/sort/selection.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// Up to this many are kept in a heap while the row is read.
constexpr int64_t kHeap = 64;

/// Up to this many are kept in order: what comes is put in its place among them.
constexpr int64_t kOrdered = 8;

/// The k smallest of some items, in order.
template <class E>
void order_smallest(const E* items, int64_t count, int64_t k, std::vector<E>& best) {
  best.assign(items, items + k);
  std::sort(best.begin(), best.end());
  for (int64_t i = k; i < count; ++i) {
    if (!(items[i] < best.back())) continue;
    int64_t place = k - 1;
    for (; place > 0 && items[i] < best[static_cast<size_t>(place - 1)]; --place)
      best[static_cast<size_t>(place)] = best[static_cast<size_t>(place - 1)];
    best[static_cast<size_t>(place)] = items[i];
  }
}

/// The k smallest of the elements [begin, end) of a row, in a heap; at least k elements.
template <class T>
void collect_smallest(const T* row, int64_t begin, int64_t end, int64_t k, KeyOf<T> flip,
                      std::vector<Item<KeyOf<T>>>& heap) {
  constexpr int64_t kFirst = 128, kBlock = 1024;
  Item<KeyOf<T>> items[kBlock];
  int64_t length = std::min(kFirst, end - begin);
  key_kernels<T>().items(items, row + begin, begin, length, flip);
  if (k <= kOrdered) {
    order_smallest(items, length, k, heap);
  } else {
    sort_items(items, items + kFirst, length);
    heap.assign(items, items + k);
  }
  std::reverse(heap.begin(), heap.end());  // what descends is a heap
  for (begin += length; begin < end; begin += length) {
    length = std::min({kBlock, 2 * length, end - begin});
    const auto worst = static_cast<KeyOf<T>>(key_of(heap.front()));
    if (worst == 0) return;  // others of its key stand behind it
    const Counted counted =
        list_part(row, begin, begin + length, flip, KeyOf<T>{0}, worst - 1, items);
    for (int64_t i = 0; i < counted.inside; ++i) {
      if (!(items[i] < heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = items[i];
      std::push_heap(heap.begin(), heap.end());
    }
  }
}

/// The k smallest elements of a row, in order.
template <class T>
class Smallest {
 public:
  using Key = KeyOf<T>;
  Smallest(int64_t length, int64_t k, Key flip) : length_(length), k_(k), flip_(flip) {
    if (k_ > kHeap || k_ == length_) all_.emplace(2 * length_);
  }
  const Item<Key>* of(const T* row) {
    if (all_) return sorted(row);
    const int64_t parts = parts_of_row(length_);
    if (parts == 1) {
      collect_smallest(row, 0, length_, k_, flip_, best_);
    } else {
      std::vector<std::vector<Item<Key>>> heaps(static_cast<size_t>(parts));
      over_parts(length_, parts, [&](int64_t part, int64_t begin, int64_t end) {
        collect_smallest(row, begin, end, k_, flip_, heaps[static_cast<size_t>(part)]);
      });
      best_.clear();
      for (const auto& heap : heaps) best_.insert(best_.end(), heap.begin(), heap.end());
    }
    std::sort(best_.begin(), best_.end());
    return best_.data();
  }

 private:
  /// All elements that a sample says are small enough.
  const Item<Key>* sorted(const T* row) {
    auto* const items = all_->data();
    const bool is_sampled = k_ < length_ && length_ >= kLongRow;
    const Key high = is_sampled ? keys_around(row, length_, k_, flip_).second : ~Key{0};
    int64_t count = list_between(row, length_, flip_, Key{0}, high, items).inside;
    if (count < k_) count = list_between(row, length_, flip_, Key{0}, ~Key{0}, items).inside;
    sort_items(items, items + length_, count);
    return items;
  }

  int64_t length_, k_;
  Key flip_;
  std::optional<Items<Item<Key>>> all_;
  std::vector<Item<Key>> best_;
};

}  // namespace

void topk(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t k, Dim dim,
          bool largest, bool) {
  if (values.numel() == 0) return;
  if (self.dim() == 0) k = 1;  // the results are 0-d too, and hold the one element for any k
  for_rows(self, dim, k, "topk",
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             using Key = KeyOf<T>;
             Smallest<T> smallest(length, k, largest ? ~Key{0} : Key{0});
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               const Item<Key>* const best = smallest.of(data);
               for (int64_t i = 0; i < k; ++i) {
                 const int64_t position = position_of(best[i]);
                 const int64_t at = place(row, i);
                 indices.data<int64_t>()[at] = position;
                 values.data<T>()[at] = data[position];
               }
             }
           });
}

}  // namespace flambeau::cpu
