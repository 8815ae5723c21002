#include <algorithm>

#include "core/geometry/shape_rules.h"
#include "core/tensor/views.h"
#include "kernels/shape_any.h"

namespace flambeau::any {

void flip(const Tensor& result, const Tensor& self, const Dims& dims) {
  if (result.numel() == 0) return;
  Shape strides = self.strides();
  int64_t offset = self.offset();
  if (self.dim() > 0) {
    for (const int64_t dim : dims) {
      const size_t d = static_cast<size_t>(dim);
      offset += (self.sizes()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
  }
  copy_data(result, make_view(self, self.sizes(), strides, offset));
}

namespace {

Tensor part(const Tensor& tensor, size_t dim, int64_t start, int64_t length) {
  return make_view(tensor, views::narrow(tensor, static_cast<int64_t>(dim), start, length));
}

/// Copies the blocks that dims from `dim` on, of which each falls into two parts, divide a tensor
/// into. `shifts`: one for each dim, from 0 on and below its size.
void roll_blocks(const Tensor& result, const Tensor& self, const Shape& shifts, size_t dim = 0) {
  while (dim < shifts.size() && shifts[dim] == 0) ++dim;
  if (dim == shifts.size()) return copy_data(result, self);
  const int64_t shift = shifts[dim], rest = self.sizes()[dim] - shift;
  roll_blocks(part(result, dim, shift, rest), part(self, dim, 0, rest), shifts, dim + 1);
  roll_blocks(part(result, dim, 0, shift), part(self, dim, rest, shift), shifts, dim + 1);
}

}  // namespace

void roll(const Tensor& result, const Tensor& self, IntList shifts, std::optional<IntList> dims) {
  if (result.numel() == 0) return;
  if (!dims) {
    const bool is_dense = result.is_contiguous();
    const Tensor rows = is_dense ? result : empty(result.sizes(), result.dtype(), result.device());
    const Tensor dense = contiguous_data(self);
    const Shape flat{dense.numel()}, unit{1};
    roll_blocks(make_view(rows, flat, unit, rows.offset()),
                make_view(dense, flat, unit, dense.offset()),
                {shape_rules::floor_mod(shifts[0], dense.numel())});
    if (!is_dense) copy_data(result, rows);
    return;
  }
  Shape each(static_cast<size_t>(self.dim()), 0);
  for (size_t i = 0; i < dims->size(); ++i) {
    const auto d = static_cast<size_t>(Dim((*dims)[i], self.dim(), {"roll", "dims"}));
    const int64_t size = self.sizes()[d];
    each[d] = (each[d] + shape_rules::floor_mod(shifts[i], size)) % size;
  }
  roll_blocks(result, self, each);
}

}  // namespace flambeau::any
