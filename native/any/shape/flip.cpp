#include <algorithm>

#include "core/geometry/shape_rules.h"
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

/// Moves the elements of each dim one after the other by copying two parts.
void roll_dim(const Tensor& result, const Tensor& self, int64_t shift, int64_t dim) {
  const size_t d = static_cast<size_t>(dim);
  const int64_t size = self.sizes()[d];
  shift = ((shift % size) + size) % size;
  const auto part = [&](const Tensor& tensor, int64_t start, int64_t length) {
    Shape sizes = tensor.sizes();
    sizes[d] = length;
    return make_view(tensor, sizes, tensor.strides(),
                     tensor.offset() + start * tensor.strides()[d]);
  };
  if (shift < size) copy_data(part(result, shift, size - shift), part(self, 0, size - shift));
  if (shift > 0) copy_data(part(result, 0, shift), part(self, size - shift, shift));
}

}  // namespace

void roll(const Tensor& result, const Tensor& self, IntList shifts, std::optional<IntList> dims) {
  if (result.numel() == 0) return;
  if (!dims) {
    const Tensor dense = contiguous_data(self);
    const Shape flat{dense.numel()}, unit{1};
    roll_dim(make_view(result, flat, unit, result.offset()),
             make_view(dense, flat, unit, dense.offset()), shifts[0], 0);
    return;
  }
  if (self.dim() == 0 || dims->empty()) return copy_data(result, self);
  Tensor current = self;
  for (size_t i = 0; i < dims->size(); ++i) {
    const bool last = i + 1 == dims->size();
    const Tensor next = last ? result : flambeau::empty(self.sizes(), self.dtype(), self.device());
    roll_dim(next, current, shifts[i], Dim((*dims)[i], self.dim(), {"roll", "dims"}));
    current = next;
  }
}

}  // namespace flambeau::any
