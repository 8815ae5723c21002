#include "kernels/padding_any.h"

namespace flambeau::any {

void constant_pad_nd(const Tensor& result, const Tensor& self, IntList pad, const Scalar& value) {
  if (result.numel() == 0) return;
  // What is left of the input.
  Shape sizes(self.sizes());
  bool is_whole = true;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    sizes[sizes.size() - 1 - i] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    is_whole = is_whole && before <= 0 && after <= 0;
  }
  if (!is_whole) fill_data(result, value);
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size <= 0; })) return;
  // Where it lies in both: no pad is longer than its dim now.
  int64_t from = self.offset(), to = result.offset();
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t dim = sizes.size() - 1 - i;
    from += std::max<int64_t>(-pad[2 * i], 0) * self.strides()[dim];
    to += std::max<int64_t>(pad[2 * i], 0) * result.strides()[dim];
  }
  copy_data(make_view(result, sizes, result.strides(), to),
            make_view(self, sizes, self.strides(), from));
}

}  // namespace flambeau::any
