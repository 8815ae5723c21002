#include <cstring>
#include <numeric>

#include "core/tensor/formula_rules.h"
#include "cpu/index/advanced.h"
#include "cpu/walk.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// Copies to the places of the result what `offset(place)` says of each.
template <class Offset>
void copy_places(const Tensor& result, const Tensor& self, const AdvancedIndex& found,
                 const Offset& offset) {
  const Rows<1> behind(found.behind, {IntList(found.behind_strides)});
  const int64_t block = behind.count() * behind.length(), length = behind.length();
  const bool dense = shape_rules::is_dense(found.behind, found.behind_strides);
  Shape front_sizes = found.before, front_strides = found.before_strides;
  front_sizes.push_back(1);
  front_strides.push_back(0);
  const Rows<1> before(front_sizes, {IntList(front_strides)});
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = result.data<T>();
    const T* const from = self.data<T>();
    const int64_t grain = std::max<int64_t>(1, kGrain / 2 / block);
    int64_t row = 0;
    before.walk(0, before.count(), [&](const std::array<int64_t, 1>& at) {
      T* const out = to + row++ * found.places * block;
      const T* const base = from + at[0];
      parallel_for(0, found.places, grain, [&](int64_t begin, int64_t end) {
        if (block == 1) {
          for (int64_t p = begin; p < end; ++p) out[p] = base[offset(p)];
        } else if (dense) {
          for (int64_t p = begin; p < end; ++p) {
            memcpy(out + p * block, base + offset(p), static_cast<size_t>(block) * sizeof(T));
          }
        } else {
          for (int64_t p = begin; p < end; ++p) {
            T* place = out + p * block;
            behind.walk(0, behind.count(), [&](const std::array<int64_t, 1>& inner) {
              const T* const source = base + offset(p) + inner[0];
              for (int64_t i = 0; i < length; ++i) *place++ = source[i * behind.step(0)];
            });
          }
        }
      });
    });
  });
}

}  // namespace

Tensor index(const Tensor& self, TensorList indices) {
  const AdvancedIndex found = work_out(self, indices, "index");
  const Tensor result = flambeau::empty(found.result_sizes, self.dtype(), self.device());
  if (result.numel() == 0) return result;
  if (found.only) {
    copy_places(result, self, found, [only = *found.only](int64_t p) { return only.offset(p); });
  } else {
    const int64_t* const offsets = found.offsets.data<int64_t>();
    copy_places(result, self, found, [=](int64_t place) { return offsets[place]; });
  }
  return result;
}

Tensor index_places(const Tensor& self, IntList size, TensorList indices) {
  const int64_t numel = checked_numel(size, "index");
  const Tensor all = flambeau::empty(size, DType::int64, self.device());
  std::iota(all.data<int64_t>(), all.data<int64_t>() + numel, int64_t{0});
  return index(all, indices);
}

}  // namespace flambeau::cpu
