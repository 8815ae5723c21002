#include "operators/computing.h"

#include <algorithm>

#include "core/geometry/memory_format.h"

namespace flambeau::forms {

Tensor empty_by_columns(IntList sizes, DType dtype, Device device) {
  const size_t rank = sizes.size();
  Shape strides = contiguous_strides(sizes);
  if (rank >= 2) {
    strides[rank - 2] = 1;
    strides[rank - 1] = std::max<int64_t>(sizes[rank - 2], 1);
  }
  return empty_strided(sizes, strides, dtype, device);
}

Tensor empty_in_format_of(std::initializer_list<const Tensor*> like, size_t least_rank,
                          IntList sizes, DType dtype, Device device) {
  const bool channels_last = std::any_of(like.begin(), like.end(), [&](const Tensor* tensor) {
    return tensor->defined() && tensor->sizes().size() == sizes.size() &&
           has_channels_inside(tensor->sizes(), tensor->strides());
  });
  if (!channels_last || sizes.size() < least_rank) return empty(sizes, dtype, device);
  return empty_strided(sizes, channels_last_strides(sizes), dtype, device);
}

}  // namespace flambeau::forms

namespace flambeau::forms::detail {

void gradients(const char* op, PromotionRule rule, std::initializer_list<Operand> inputs,
               FunctionRef<void(Iterator&)> kernel, std::initializer_list<Tensor*> computed) {
  Iterator iter(op);
  for (size_t i = 0; i < computed.size(); ++i) iter.add_output(kNew);
  for (const Operand& input : inputs) iter.add_input(input);
  iter.build(rule);
  if (iter.numel() != 0 && iter.backend() != Backend::meta) kernel(iter);
  int index = 0;
  for (Tensor* gradient : computed) *gradient = iter.take_output(index++);
}

Tensor gradient(const char* op, PromotionRule rule, std::initializer_list<Operand> inputs,
                FunctionRef<void(Iterator&)> kernel) {
  Tensor computed;
  gradients(op, rule, inputs, kernel, {&computed});
  return computed;
}

}  // namespace flambeau::forms::detail
