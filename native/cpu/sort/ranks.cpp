#include <limits>

#include "cpu/sort/rows_of_dim.h"
#include "cpu/sort/selection.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// Where the first NaN of a row stands; -1: there is none.
template <class T>
int64_t first_nan(const T* row, int64_t length, Item<KeyOf<T>>* items) {
  if constexpr (!has_shared_keys<T>) return -1;
  constexpr KeyOf<T> nan = ~KeyOf<T>{0};
  const Counted counted = list_between(row, length, KeyOf<T>{0}, nan, nan, items);
  return counted.inside == 0 ? -1 : position_of(items[0]);
}

}  // namespace

void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t k, Dim dim,
              bool) {
  if (self.numel() == 0) return;
  for_rows(self, dim, 1, "kthvalue",
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             const Items<Item<KeyOf<T>>> memory(2 * length);
             auto* const items = memory.data();
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               const int64_t position =
                   position_of(item_at_rank(data, length, k - 1, KeyOf<T>{0}, items));
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
             const Items<Item<KeyOf<T>>> memory(2 * length);
             auto* const items = memory.data();
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               int64_t position = first_nan(data, length, items);
               if (position < 0) {
                 const int64_t middle = (length - 1) / 2;
                 position = position_of(item_at_rank(data, length, middle, KeyOf<T>{0}, items));
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
