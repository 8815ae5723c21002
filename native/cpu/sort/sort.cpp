#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "cpu/sort/keys.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// Sorts each row of `dim` and writes where the elements stood, and the elements if `values` is
/// defined. Rows are shared out over threads.
void sort_rows(const Tensor* values, const Tensor& indices, const Tensor& self, Dim dim,
               bool descending, const char* op) {
  if (self.numel() == 0) return;
  const Tensor source = rows_along(self, dim);
  const Tensor places = view_with_dim_last(indices, dim);
  const Tensor sorted = values ? view_with_dim_last(*values, dim) : places;
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim), count = self.numel() / length;
  check(length < int64_t{1} << 32, ErrorKind::runtime, op, "(): a dim of size ", length,
        " is too long to be sorted");
  const Rows<2> rows(places.sizes(), {IntList(places.strides()), IntList(sorted.strides())});
  visit_stored_ordered_dtype(self.dtype(), op, [&]<class T>() {
    using Key = KeyOf<T>;
    const T* const from = source.data<T>();
    T* const out = values ? sorted.data<T>() : nullptr;
    int64_t* const where = places.data<int64_t>();
    const Key flip = descending ? ~Key{0} : Key{0};
    const int64_t grain = std::max<int64_t>(1, kGrain / 16 / length);
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      const Items<Item<Key>> memory(2 * length);
      auto *const items = memory.data(), *const scratch = items + length;
      int64_t row = begin;
      rows.walk(begin, end, [&](const std::array<int64_t, 2>& at) {
        const T* const data = from + row++ * length;
        in_blocks(length, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) {
            items[i] = make_item<Key>(order_key(data[i]) ^ flip, i);
          }
        });
        sort_items(items, scratch, length);
        in_blocks(length, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) {
            const int64_t position = position_of(items[i]);
            where[at[0] + i * rows.step(0)] = position;
            if (!out) continue;
            // Keys are at hand, in order; the elements of a long row are not.
            const Key key = static_cast<Key>(key_of(items[i])) ^ flip;
            out[at[1] + i * rows.step(1)] =
                is_shared_key<T>(key) ? data[position] : value_of<T>(key);
          }
        });
      });
    });
  });
}

}  // namespace

void sort(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim, bool descending,
          bool) {
  sort_rows(&values, indices, self, dim, descending, "sort");
}

void argsort(const Tensor& result, const Tensor& self, Dim dim, bool descending, bool) {
  sort_rows(nullptr, result, self, dim, descending, "argsort");
}

}  // namespace flambeau::cpu
