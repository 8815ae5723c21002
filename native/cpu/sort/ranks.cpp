#include <limits>

#include "cpu/sort/rows_of_dim.h"
#include "cpu/sort/selection.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// How many elements of a row are NaN; `items` are those, in order of position.
template <class T>
int64_t list_nan(const T* row, int64_t length, Item<KeyOf<T>>* items) {
  if constexpr (!has_shared_keys<T>) return 0;
  constexpr KeyOf<T> nan = ~KeyOf<T>{0};
  return list_between(row, length, KeyOf<T>{0}, nan, nan, items).inside;
}

/// For each row along `dim`: find(row, length, items) says which position is wanted, working in
/// `items`, and put(row, position, place) writes what is wanted of it at the row's place.
template <class Find, class Put>
void find_in_rows(const Tensor& self, Dim dim, const char* op, const Find& find, const Put& put) {
  for_rows(self, dim, 1, op,
           [&]<class T>(const T* from, int64_t begin, int64_t end, int64_t length, auto&& place) {
             const Items<Item<KeyOf<T>>> memory(2 * length);
             for (int64_t row = begin; row < end; ++row) {
               const T* const data = from + row * length;
               put(data, find(data, length, memory.data()), place(row, 0));
             }
           });
}

}  // namespace

void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t k, Dim dim,
              bool) {
  if (self.numel() == 0) return;
  find_in_rows(
      self, dim, "kthvalue",
      [&]<class T>(const T* row, int64_t length, Item<KeyOf<T>>* items) {
        return position_of(item_at_rank(row, length, k - 1, KeyOf<T>{0}, items));
      },
      [&]<class T>(const T* row, int64_t position, int64_t place) {
        indices.data<int64_t>()[place] = position;
        values.data<T>()[place] = row[position];
      });
}

void median_position(const Tensor& result, const Tensor& self, Dim dim, bool, bool skip_nan) {
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  check(size > 0 || result.numel() == 0, ErrorKind::index, "median(): dim ", dim, " of shape ",
        self.sizes(), " has no elements");
  if (self.numel() == 0) return;
  find_in_rows(
      self, dim, "median",
      [skip_nan]<class T>(const T* row, int64_t length, Item<KeyOf<T>>* items) {
        const int64_t nans = list_nan(row, length, items);
        if (nans == length || (nans > 0 && !skip_nan)) return position_of(items[0]);
        return position_of(item_at_rank(row, length, (length - nans - 1) / 2, KeyOf<T>{0}, items));
      },
      [&](const auto*, int64_t position, int64_t place) {
        result.data<int64_t>()[place] = position;
      });
}

void median(const Tensor& result, const Tensor& self) {
  if (self.numel() == 0) return fill_data(result, std::numeric_limits<double>::quiet_NaN());
  const Tensor dense = contiguous_data(self);
  const Tensor row = make_view(dense, Shape{dense.numel()}, Shape{1}, dense.offset());
  const Tensor place = flambeau::empty(Shape(), DType::int64, self.device());
  median_position(place, row, Dim(0, 1, {"median", "dim"}), false, false);
  const int64_t offset = row.offset() + *place.data<int64_t>();
  copy_data(result, make_view(row, Shape(), Shape(), offset));
}

}  // namespace flambeau::cpu
