#include "kernels/creation_any.h"

namespace flambeau::any {

void copy_(const Tensor& self, const Tensor& src, bool) {
  if (!self.is_same(src)) copy_data(self, src);
}

void contiguous(const Tensor& result, const Tensor& self) { copy_data(result, self); }

void _to_copy(const Tensor& result, const Tensor& self, std::optional<DType>, std::optional<Device>,
              bool) {
  copy_data(result, self);
}

}  // namespace flambeau::any
