#include <algorithm>
#include <bit>
#include <type_traits>

#include "cpu/blocks.h"
#include "cpu/sort/key_tree.h"
#include "cpu/sort/keys.h"
#include "cpu/sort/parts.h"
#include "kernels/searching.h"

namespace flambeau::cpu {
namespace {

/// For each of some values the number of elements of a sorted row that stand in front of it, with
/// `right` also of those equal to it. Halves without a branch, which would be wrong half of the
/// time. at(i) is what element i of the row is compared by.
template <bool right, class Value, class At>
void count_in_front(int64_t* found, const Value (&values)[kTogether], const At& at,
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
  using Key = KeyOf<T>;
  const T *bounds, *values;
  int64_t length, per_row;
  bool right;

  /// The places of values in the row that begins at a place.
  void operator()(int64_t (&found)[kSearches], const T (&some)[kSearches], int64_t count,
                  int64_t start) const {
    for (int64_t i = 0; i < count; i += kTogether) search(found + i, some + i, bounds + start);
  }

 private:
  void search(int64_t* found, const T* some, const T* row) const {
    if constexpr (std::is_arithmetic_v<T>) {
      if (std::all_of(some, some + kTogether, [](T x) { return x == x; })) {
        const auto same = [](T x) { return x; };
        return search_by<T>(found, some, same, row);
      }
    }
    search_by<Key>(
        found, some, [](T x) { return order_key(x); }, row);
  }
  template <class Value, class Of>
  void search_by(int64_t* found, const T* some, const Of& of, const T* row) const {
    Value wanted[kTogether];
    std::transform(some, some + kTogether, wanted, of);
    const auto at = [&](int64_t i) -> Value { return of(row[i]); };
    if (right) {
      count_in_front<true>(found, wanted, at, length);
    } else {
      count_in_front<false>(found, wanted, at, length);
    }
  }
};

/// The same by trees of the keys of each row.
template <class T>
class TreeSearch {
 public:
  using Key = KeyOf<T>;

  /// Whether elements are compared more often than they are put into trees, whose nodes are mostly
  /// full.
  static bool pays(const Search<T>& search, int64_t rows, int64_t values) {
    return FLAMBEAU_PICK(find_less<Key>)() && search.length > 0 && values >= rows * search.length &&
           (rows == 1 || search.length >= KeyTree<Key>::kNode);
  }
  TreeSearch(const Search<T>& search, int64_t rows)
      : tree_(search.length),
        memory_(rows * tree_.size()),
        find_(FLAMBEAU_PICK(find_less<Key>)()),
        right_(search.right) {
    const auto write = [&](int64_t row, int64_t begin, int64_t end) {
      const T* const from = search.bounds + row * search.length;
      Key* const to = memory_.data() + row * tree_.size();
      for (int64_t i = begin; i < end; ++i) to[i] = order_key(from[i]);
    };
    if (rows == 1) {
      over_row(search.length, [&](int64_t begin, int64_t end) { write(0, begin, end); });
      tree_.fill(memory_.data());
      return;
    }
    parallel_for(0, rows, kShare / search.length + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        write(row, 0, search.length);
        tree_.fill(memory_.data() + row * tree_.size());
      }
    });
  }
  void operator()(int64_t (&found)[kSearches], const T (&some)[kSearches], int64_t count,
                  int64_t start) const {
    constexpr Key largest = ~Key{0};
    // What is not greater than a key is less than the next, if there is one.
    const Key next = right_;
    Key wanted[kSearches];
    for (int64_t k = 0; k < kSearches; ++k) wanted[k] = order_key(some[k]) + next;
    const Key* const tree = memory_.data() + start / tree_.length() * tree_.size();
    find_(found, wanted, count, tree, tree_.levels().data(), tree_.levels().size());
    if (!right_) return;
    for (int64_t k = 0; k < count; ++k)
      found[k] = wanted[k] == largest + next ? tree_.length() : found[k];
  }

 private:
  KeyTree<Key> tree_;
  Items<Key> memory_;
  FindLess<Key> find_;
  bool right_;
};

/// Writes the places of all values, a row or a part of one after the other.
template <class T, class Find, class Place>
void search_all(const Search<T>& search, const Find& find, int64_t values, Place* places) {
  const int64_t steps = std::bit_width(static_cast<uint64_t>(search.length)) + 1;
  const auto search_row = [&](int64_t begin, int64_t end) {
    const int64_t start = begin / search.per_row * search.length;
    int64_t found[kSearches];
    T some[kSearches] = {};
    for (int64_t i = begin; i < end; i += kSearches) {
      const int64_t count = std::min(kSearches, end - i);
      std::copy_n(search.values + i, count, some);
      find(found, some, count, start);
      std::transform(found, found + count, places + i,
                     [](int64_t place) { return static_cast<Place>(place); });
    }
  };
  parallel_for(0, values, kGrain / (8 * steps), [&](int64_t begin, int64_t end) {
    for (int64_t next = 0; begin < end; begin = next) {
      next = std::min(end, (begin / search.per_row + 1) * search.per_row);
      search_row(begin, next);
    }
  });
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
    const Search<T> search{boundaries.data<T>(), values.data<T>(), length, per_row, right};
    const int64_t rows = shared ? 1 : boundaries.numel() / std::max<int64_t>(length, 1);
    const auto search_by = [&](const auto& find) {
      if (out_int32) {
        search_all(search, find, values.numel(), result.data<int32_t>());
      } else {
        search_all(search, find, values.numel(), result.data<int64_t>());
      }
    };
    if (TreeSearch<T>::pays(search, rows, values.numel())) {
      search_by(TreeSearch<T>(search, rows));
    } else {
      search_by(search);
    }
  });
}

}  // namespace flambeau::cpu
