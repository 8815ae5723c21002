#include <algorithm>

#include "core/tensor/views.h"
#include "kernels/padding_any.h"

namespace flambeau::any {

namespace {

/// Elements [start, start + length) of a dim.
void fill_part(const Tensor& tensor, size_t dim, int64_t start, int64_t length,
               const Scalar& value) {
  if (length == 0) return;
  fill_data(make_view(tensor, views::narrow(tensor, static_cast<int64_t>(dim), start, length)),
            value);
}

}  // namespace

void constant_pad_nd(const Tensor& result, const Tensor& self, IntList pad, const Scalar& value) {
  if (result.numel() == 0) return;
  // What is left of the input, where it lies in both: no pad is longer than its dim.
  Shape sizes(self.sizes());
  int64_t from = self.offset(), to = result.offset();
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t dim = sizes.size() - 1 - i;
    const int64_t before = std::max<int64_t>(pad[2 * i], 0);
    const int64_t after = std::max<int64_t>(pad[2 * i + 1], 0);
    sizes[dim] = result.sizes()[dim] - before - after;
    from += std::max<int64_t>(-pad[2 * i], 0) * self.strides()[dim];
    to += before * result.strides()[dim];
    fill_part(result, dim, 0, before, value);
    fill_part(result, dim, result.sizes()[dim] - after, after, value);
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  copy_data(make_view(result, sizes, result.strides(), to),
            make_view(self, sizes, self.strides(), from));
}

}  // namespace flambeau::any
