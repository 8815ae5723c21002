#include <cstring>
#include <memory>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "cpu/sort/keys.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

using Unique = std::tuple<Tensor, Tensor, Tensor>;

/// Collects runs of equal elements as they come; `order` lists positions in `data`.
template <class T, class Equal>
Unique collect(const Tensor& self, const T* data, const int64_t* order, const Equal& equal) {
  const int64_t numel = self.numel();
  const Tensor inverse = flambeau::empty(self.sizes(), DType::int64, self.device());
  std::vector<int64_t> firsts, counts;
  in_blocks(numel, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t position = order ? order[i] : i;
      if (firsts.empty() || !equal(data[firsts.back()], data[position])) {
        firsts.push_back(position);
        counts.push_back(0);
      }
      ++counts.back();
      inverse.data<int64_t>()[position] = static_cast<int64_t>(firsts.size()) - 1;
    }
  });
  const Shape sizes{static_cast<int64_t>(firsts.size())};
  const Tensor values = flambeau::empty(sizes, self.dtype(), self.device());
  const Tensor occurrences = flambeau::empty(sizes, DType::int64, self.device());
  for (size_t i = 0; i < firsts.size(); ++i) {
    values.data<T>()[i] = data[firsts[i]];
    occurrences.data<int64_t>()[i] = counts[i];
  }
  return {values, inverse, occurrences};
}

}  // namespace

Unique unique_elements(const Tensor& self, bool) {
  const Tensor dense = contiguous_data(self);
  const int64_t numel = dense.numel();
  return visit_stored_ordered_dtype(self.dtype(), "unique", [&]<class T>() -> Unique {
    using Key = KeyOf<T>;
    const T* const data = dense.data<T>();
    const auto size = static_cast<size_t>(numel);
    const auto items = std::make_unique_for_overwrite<WideItem[]>(size);
    const auto scratch = std::make_unique_for_overwrite<WideItem[]>(size);
    in_blocks(numel, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        items[static_cast<size_t>(i)] = {static_cast<Key>(order_key(data[i])), i};
      }
    });
    sort_items(items.get(), scratch.get(), numel);
    const auto order = std::make_unique_for_overwrite<int64_t[]>(size);
    in_blocks(numel, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        order[static_cast<size_t>(i)] = items[static_cast<size_t>(i)].position;
      }
    });
    // NaN differs from NaN here, as everywhere.
    return collect<T>(self, data, order.get(), [](T a, T b) { return a == b; });
  });
}

Unique unique_runs(const Tensor& self) {
  const Tensor dense = contiguous_data(self);
  return visit_stored_dtype(self.dtype(), [&]<class T>() -> Unique {
    return collect<T>(self, dense.data<T>(), nullptr, [](T a, T b) { return a == b; });
  });
}

}  // namespace flambeau::cpu
