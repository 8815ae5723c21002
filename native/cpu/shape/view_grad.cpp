#include "kernels/view_grad.h"
#include "core/formula_rules.h"
#include "core/views.h"
#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"

/// Zeros with a gradient added where a view looked.
namespace flambeau::cpu {
namespace {

/// destination[...] += source over one shape; places may coincide, so it is done in order.
void add_into(const Tensor& destination, const Tensor& source, const char* op) {
  check(destination.sizes() == source.sizes(), ErrorKind::runtime, op, "(): a gradient of shape ",
        source.sizes(), " for a view of shape ", destination.sizes());
  if (source.numel() == 0) return;
  const Rows<2> rows(source.sizes(), {IntList(destination.strides()), IntList(source.strides())});
  visit_dtype(source.dtype(), [&]<class T>() {
    T* const to = destination.data<T>();
    const T* const from = source.data<T>();
    rows.walk(0, rows.count(), [&](const std::array<int64_t, 2>& at) {
      for (int64_t i = 0; i < rows.length(); ++i) {
        T& sum = to[at[0] + i * rows.step(0)];
        sum = plus(sum, from[at[1] + i * rows.step(1)]);
      }
    });
  });
}

}  // namespace

void unfold_grad(const Tensor& result, const Tensor& grad, IntList, Dim dimension, int64_t window,
                 int64_t step) {
  fill_data(result, 0);
  add_into(make_view(result, views::unfold(result, dimension, window, step)), grad, "unfold");
}

void as_strided_grad(const Tensor& result, const Tensor& grad, IntList size, IntList strides,
                     int64_t offset, IntList view_size, IntList view_stride,
                     std::optional<int64_t> view_offset) {
  // A storage that both geometries fit into, counted from the lower of the two offsets.
  const int64_t base = std::min(offset, view_offset.value_or(offset));
  const int64_t shift = offset - base, view_shift = view_offset.value_or(offset) - base;
  const int64_t extent = std::max(shift + shape_rules::strided_extent(size, strides),
                                  view_shift + shape_rules::strided_extent(view_size, view_stride));
  const Tensor storage = flambeau::empty(Shape{extent}, grad.dtype(), grad.device());
  fill_data(storage, 0);
  add_into(make_view(storage, view_size, view_stride, storage.offset() + view_shift), grad,
           "as_strided");
  copy_data(result, make_view(storage, size, strides, storage.offset() + shift));
}

}  // namespace flambeau::cpu
