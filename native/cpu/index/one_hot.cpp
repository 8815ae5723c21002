#include "core/base/checked.h"
#include "cpu/blocks.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  const Tensor dense = contiguous_data(self);
  const int64_t* const classes = dense.data<int64_t>();
  const int64_t numel = dense.numel();
  if (num_classes < 0) {  // 0 where all are negative, which is refused below
    const int64_t largest = *std::max_element(classes, classes + numel);
    num_classes = std::max<int64_t>(checked_add(largest, 1, "one_hot"), 0);
  }
  Shape sizes = self.sizes();
  sizes.push_back(num_classes);
  const Tensor result = flambeau::empty(sizes, DType::int64, self.device());
  fill_data(result, 0);
  int64_t* const out = result.data<int64_t>();
  for (int64_t i = 0; i < numel; ++i) {
    check(classes[i] >= 0 && classes[i] < num_classes, ErrorKind::runtime, "one_hot(): class ",
          classes[i], " is not in [0, ", num_classes, ")");
    out[i * num_classes + classes[i]] = 1;
  }
  return result;
}

}  // namespace flambeau::cpu
