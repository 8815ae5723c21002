#include <algorithm>
#include <bit>
#include <type_traits>

#include "cpu/blocks.h"
#include "cpu/sort/keys.h"
#include "cpu/sort/parts.h"
#include "kernels/searching.h"

namespace flambeau::cpu {
namespace {

/// Searches that go on at once: each waits for memory and for its comparisons.
constexpr int64_t kTogether = 8;

/// For each of some values the number of elements of a sorted row that stand in front of it, with
/// `right` also of those equal to it. Halves without a branch, which would be wrong half of the
/// time. at(i) is what element i of the row is compared by.
template <bool right, class Value, class At>
void count_in_front(int64_t (&found)[kTogether], const Value (&values)[kTogether], const At& at,
                    int64_t length) {
  std::fill_n(found, kTogether, 0);
  if (length == 0) return;
  const auto in_front = [&](int64_t i, Value value) -> int64_t {
    return right ? at(i) <= value : at(i) < value;
  };
  while (length > 1) {
    const int64_t half = length / 2;
#pragma GCC unroll 8
    for (int64_t k = 0; k < kTogether; ++k)
      found[k] += half & -in_front(found[k] + half - 1, values[k]);
    length -= half;
  }
  for (int64_t k = 0; k < kTogether; ++k) found[k] += in_front(found[k], values[k]);
}

/// Sorted rows and what is looked for in each, or in the only one.
template <class T>
struct Search {
  const T *bounds, *values;
  int64_t length, per_row;
  bool right;
  const KeyOf<T>* keys = nullptr;  // of the bounds, where that pays

  /// The places of values [begin, end) of one row, to put(i, place).
  template <class Put>
  void run(int64_t begin, int64_t end, const Put& put) const {
    const int64_t start = begin / per_row * length;
    int64_t found[kTogether];
    for (int64_t i = begin; i < end; i += kTogether) {
      const int64_t count = std::min(kTogether, end - i);
      search(found, values + i, count, start);
      for (int64_t k = 0; k < count; ++k) put(i + k, found[k]);
    }
  }

 private:
  void search(int64_t (&found)[kTogether], const T* some, int64_t count, int64_t start) const {
    const T* const row = bounds + start;
    const auto key = [](T x) { return order_key(x); };
    if (keys) {
      const KeyOf<T>* const known = keys + start;
      return search_by<KeyOf<T>>(found, some, count, key, [known](int64_t i) { return known[i]; });
    }
    if constexpr (std::is_arithmetic_v<T>) {
      if (std::all_of(some, some + count, [](T x) { return x == x; })) {
        const auto same = [](T x) { return x; };
        return search_by<T>(found, some, count, same, [row](int64_t i) { return row[i]; });
      }
    }
    search_by<KeyOf<T>>(found, some, count, key, [row](int64_t i) { return order_key(row[i]); });
  }
  template <class Value, class Of, class At>
  void search_by(int64_t (&found)[kTogether], const T* some, int64_t count, const Of& of,
                 const At& at) const {
    Value wanted[kTogether] = {};
    for (int64_t k = 0; k < count; ++k) wanted[k] = of(some[k]);
    if (right) {
      count_in_front<true>(found, wanted, at, length);
    } else {
      count_in_front<false>(found, wanted, at, length);
    }
  }
};

/// Keys of all bounds, where each is compared more often than once: they are compared faster.
template <class T>
void use_keys(Search<T>& search, Items<KeyOf<T>>& memory, int64_t bounds, int64_t values) {
  if (values < bounds) return;
  memory = Items<KeyOf<T>>(bounds);
  KeyOf<T>* const keys = memory.data();
  over_row(bounds, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) keys[i] = order_key(search.bounds[i]);
  });
  search.keys = keys;
}

}  // namespace

void insertion_points(const Tensor& result, const Tensor& sorted_sequence, const Tensor& self,
                      bool out_int32, bool right) {
  if (result.numel() == 0) return;
  const Tensor boundaries = contiguous_data(sorted_sequence), values = contiguous_data(self);
  const int64_t length = boundaries.dim() == 0 ? 1 : boundaries.size(-1);
  const bool shared = boundaries.dim() <= 1;
  const int64_t per_row = shared ? values.numel() : values.size(-1);
  visit_ordered_dtype(self.dtype(), "searchsorted", [&]<class T>() {
    Search<T> search{boundaries.data<T>(), values.data<T>(), length, per_row, right};
    Items<KeyOf<T>> memory(0);
    use_keys(search, memory, boundaries.numel(), values.numel());
    const int64_t steps = std::bit_width(static_cast<uint64_t>(length)) + 1;
    const auto find = [&](auto* places) {
      parallel_for(0, values.numel(), kGrain / (8 * steps), [&](int64_t begin, int64_t end) {
        for (int64_t next = 0; begin < end; begin = next) {
          next = std::min(end, (begin / per_row + 1) * per_row);
          search.run(begin, next, [places](int64_t i, int64_t place) {
            places[i] = static_cast<std::decay_t<decltype(*places)>>(place);
          });
        }
      });
    };
    if (out_int32) {
      find(result.data<int32_t>());
    } else {
      find(result.data<int64_t>());
    }
  });
}

}  // namespace flambeau::cpu
