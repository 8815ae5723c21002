#include <algorithm>
#include <numeric>
#include <vector>

#include "core/tensor/views.h"
#include "core/threads/interrupt.h"
#include "cpu/dtype_switch.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

/// The geometry in which `dim` comes first, or (`back`) goes back from there.
Tensor rotated(const Tensor& tensor, int64_t dim, bool back = false) {
  Shape sizes(tensor.sizes()), strides(tensor.strides());
  for (Shape* list : {&sizes, &strides}) {
    auto* const first = list->begin();
    std::rotate(first, first + (back ? 1 : dim), first + dim + 1);
  }
  return make_view(tensor, sizes, strides, tensor.offset());
}

/// NaN comes after all numbers, and equals none.
template <class T>
bool precedes(T a, T b) {
  return a < b || (b != b && a == a);
}

/// Rows of `width` elements, one behind the other.
template <class T>
struct Rows {
  const T* data;
  int64_t width;
  const T* operator[](int64_t row) const { return data + row * width; }
  bool equal(int64_t a, int64_t b) const {
    check_interrupt();
    return std::equal((*this)[a], (*this)[a] + width, (*this)[b]);
  }
  bool less(int64_t a, int64_t b) const {
    check_interrupt();
    const T *x = (*this)[a], *y = (*this)[b];
    return std::lexicographical_compare(x, x + width, y, y + width, precedes<T>);
  }
};

}  // namespace

std::tuple<Tensor, Tensor, Tensor> unique_slices(const Tensor& self, Dim dim, bool runs) {
  const Tensor dense = contiguous_data(rotated(self, dim));
  const int64_t count = dense.sizes()[0];
  const int64_t width = count == 0 ? 0 : dense.numel() / count;
  std::vector<int64_t> order(static_cast<size_t>(count)), firsts, times;
  std::iota(order.begin(), order.end(), 0);
  const Tensor inverse = flambeau::empty(Shape{count}, DType::int64, self.device());
  const auto collect = [&](const auto& rows) {
    for (const int64_t row : order) {
      if (firsts.empty() || !rows.equal(firsts.back(), row)) {
        firsts.push_back(row);
        times.push_back(0);
      }
      ++times.back();
      inverse.data<int64_t>()[row] = static_cast<int64_t>(firsts.size()) - 1;
    }
  };
  if (runs) {
    visit_stored_dtype(self.dtype(), [&]<class T>() { collect(Rows<T>{dense.data<T>(), width}); });
  } else {
    visit_stored_ordered_dtype(self.dtype(), "unique", [&]<class T>() {
      const Rows<T> rows{dense.data<T>(), width};
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return rows.less(a, b); });
      collect(rows);
    });
  }
  Shape sizes(dense.sizes());
  sizes[0] = static_cast<int64_t>(firsts.size());
  const Tensor values = flambeau::empty(sizes, self.dtype(), self.device());
  const Tensor counts = flambeau::empty(Shape{sizes[0]}, DType::int64, self.device());
  std::copy(times.begin(), times.end(), counts.data<int64_t>());
  visit_stored_dtype(self.dtype(), [&]<class T>() {
    T* out = values.data<T>();
    for (const int64_t row : firsts) out = std::copy_n(dense.data<T>() + row * width, width, out);
  });
  return {contiguous_data(rotated(values, dim, true)), inverse, counts};
}

}  // namespace flambeau::cpu
