#include "core/checked.h"
#include "cpu/blocks.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  const Tensor dense = contiguous_data(self);
  const int64_t* const classes = dense.data<int64_t>();
  const int64_t numel = dense.numel();
  if (num_classes < 0) {
    check(numel > 0, ErrorKind::runtime,
          "one_hot(): num_classes must be given for a tensor without elements");
    num_classes = checked_add(*std::max_element(classes, classes + numel), 1, "one_hot");
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
