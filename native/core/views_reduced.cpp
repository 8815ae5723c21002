#include "core/shape_rules.h"
#include "core/views.h"

namespace flambeau::views {

View expand_reduced(const Tensor& self, IntList size, std::optional<IntList> dim, bool keepdim) {
  const int64_t rank = static_cast<int64_t>(size.size());
  const Shape reduced = shape_rules::wrap_dims(dim, rank, "expand_reduced");
  Shape strides(size.size(), -1);
  for (const int64_t d : reduced) strides[static_cast<size_t>(d)] = 0;
  size_t next = 0;
  for (size_t d = 0; d < size.size(); ++d) {
    const bool is_reduced = strides[d] == 0;
    if (is_reduced && !keepdim) continue;
    const bool fits = next < self.sizes().size() && self.sizes()[next] == (is_reduced ? 1 : size[d]);
    check(fits, ErrorKind::runtime, "expand_reduced(): shape ", self.sizes(),
          " is not what a reduction makes of shape ", ShapeText{size});
    strides[d] = is_reduced ? 0 : self.strides()[next];
    ++next;
  }
  return {size, strides, self.offset()};
}

}  // namespace flambeau::views
