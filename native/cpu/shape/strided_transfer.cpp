#include "core/tensor/formula_rules.h"
#include "core/tensor/overlap.h"
#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "cpu/shape/add_into.h"
#include "kernels/view_grad.h"

/// From one strided geometry of a storage to another.
namespace flambeau::cpu {
namespace {

/// Divides what several elements of `shared`, a view of `storage`, have in common by their number.
void divide_by_sharers(const Tensor& storage, const Tensor& shared) {
  std::vector<int64_t> sharers(static_cast<size_t>(storage.numel()));
  const Rows<1> rows(shared.sizes(), {IntList(shared.strides())});
  const int64_t first = shared.offset() - storage.offset();
  rows.walk(0, rows.count(), [&](const std::array<int64_t, 1>& at) {
    for (int64_t i = 0; i < rows.length(); ++i) {
      ++sharers[static_cast<size_t>(first + at[0] + i * rows.step(0))];
    }
  });
  visit_dtype(storage.dtype(), [&]<class T>() {
    T* const sums = storage.data<T>();
    for (size_t i = 0; i < sharers.size(); ++i) {
      if (sharers[i] < 2) continue;
      using Number = Collected<T>;
      sums[i] = static_cast<T>(static_cast<Number>(sums[i]) / from_number<Number>(sharers[i]));
    }
  });
}

}  // namespace

void strided_transfer(const Tensor& result, const Tensor& self, IntList stride, int64_t offset,
                      IntList to_size, IntList to_stride, int64_t to_offset, bool shared_once) {
  // A storage that both geometries fit into, counted from the lower of the two offsets.
  const int64_t base = std::min(offset, to_offset);
  const int64_t shift = offset - base, to_shift = to_offset - base;
  const auto end = [](int64_t start, IntList sizes, IntList strides) {
    return checked_add(start, shape_rules::strided_extent(sizes, strides), "as_strided");
  };
  const int64_t extent =
      std::max(end(shift, self.sizes(), stride), end(to_shift, to_size, to_stride));
  const Tensor storage = flambeau::empty(Shape{extent}, self.dtype(), self.device());
  fill_data(storage, 0);
  const Tensor from = make_view(storage, self.sizes(), stride, storage.offset() + shift);
  const Tensor to = make_view(storage, to_size, to_stride, storage.offset() + to_shift);
  add_into(from, self, "as_strided");
  const Tensor& shared = shared_once ? from : to;
  if (has_internal_overlap(shared)) divide_by_sharers(storage, shared);
  copy_data(result, to);
}

}  // namespace flambeau::cpu
