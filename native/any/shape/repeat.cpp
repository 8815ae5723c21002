#include "kernels/shape_any.h"

namespace flambeau::any {

void repeat(const Tensor& result, const Tensor& self, IntList repeats) {
  if (result.numel() == 0) return;
  // The result as [repeat, size, repeat, size, ...], which the input broadcasts to.
  const size_t lead = repeats.size() - static_cast<size_t>(self.dim());
  Shape sizes, to, from;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t size = i < lead ? 1 : self.sizes()[i - lead];
    const int64_t stride = i < lead ? 0 : self.strides()[i - lead];
    sizes.push_back(repeats[i]);
    sizes.push_back(size);
    to.push_back(result.strides()[i] * size);
    to.push_back(result.strides()[i]);
    from.push_back(0);
    from.push_back(stride);
  }
  copy_data(make_view(result, sizes, to, result.offset()),
            make_view(self, sizes, from, self.offset()));
}

}  // namespace flambeau::any
