#include "core/base/checked.h"
#include "cpu/blocks.h"
#include "kernels/shape.h"

namespace flambeau::cpu {

Tensor repeated_indices(const Tensor& repeats) {
  const Tensor counts = dense_indices(repeats);
  const int64_t* const count = counts.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    check(count[i] >= 0, ErrorKind::runtime,
          "repeat_interleave(): repeats must not be negative, got ", count[i]);
    total = checked_add(total, count[i], "repeat_interleave");
  }
  Tensor result = flambeau::empty(Shape{total}, DType::int64, repeats.device());
  int64_t* out = result.data<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i) out = std::fill_n(out, count[i], i);
  return result;
}

}  // namespace flambeau::cpu
