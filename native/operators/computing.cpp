#include "operators/computing.h"

#include <algorithm>

#include "core/geometry/memory_format.h"
#include "core/tensor/overlap.h"
#include "core/tensor/views.h"

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

namespace {

Tensor empty_in_format(bool channels_last, IntList sizes, DType dtype, Device device) {
  if (!channels_last) return empty(sizes, dtype, device);
  return empty_strided(sizes, channels_last_strides(sizes), dtype, device);
}

bool lies_channels_last(const Tensor& tensor, size_t rank) {
  return tensor.sizes().size() == rank && has_channels_inside(tensor.sizes(), tensor.strides());
}

}  // namespace

Tensor empty_in_format_of(std::initializer_list<const Tensor*> like, size_t least_rank,
                          IntList sizes, DType dtype, Device device) {
  const bool channels_last = std::any_of(like.begin(), like.end(), [&](const Tensor* tensor) {
    return tensor->defined() && lies_channels_last(*tensor, sizes.size());
  });
  return empty_in_format(channels_last && sizes.size() >= least_rank, sizes, dtype, device);
}

Tensor empty_in_format_of(TensorList like, size_t least_rank, IntList sizes, DType dtype,
                          Device device) {
  bool found = false, others = sizes.size() < least_rank;
  for (const Tensor& tensor : like) {
    if (tensor.dim() == 1 && tensor.numel() == 0) continue;
    (lies_channels_last(tensor, sizes.size()) ? found : others) = true;
  }
  return empty_in_format(found && !others, sizes, dtype, device);
}

void Apart::set_apart(const Tensor& written) {
  if (!may_overlap(written, *read_)) return;
  copy_ = empty(read_->sizes(), read_->dtype(), read_->device());
  copy_data(copy_, *read_);
  read_ = &copy_;
}

}  // namespace flambeau::forms

namespace flambeau::forms::detail {

void gradients(const char* op, PromotionRule rule, std::span<const Operand> inputs,
               FunctionRef<void(Iterator&)> kernel, std::span<const WantedGradient> wanted) {
  if (sum_gradients(op, rule, inputs, kernel, wanted)) return;
  Iterator iter(op);
  for (size_t i = 0; i < wanted.size(); ++i) iter.add_output(kNew);
  for (const Operand& input : inputs) iter.add_input(input);
  iter.build(rule);
  if (iter.numel() != 0 && iter.backend() != Backend::meta) kernel(iter);
  int index = 0;
  for (const WantedGradient& one : wanted) one.gradient = iter.take_output(index++);
}

Tensor room(const Destination& to, IntList sizes, DType dtype, Device device, bool overwrites,
            TrackedList reads) {
  const Tensor& given = to.tensor;
  bool is_free = given.dtype() == dtype && given.device() == device && given.is_contiguous() &&
                 equal(given.sizes(), sizes) && !autograd::may_stand_in(given);
  for (const Tracked& read : reads) {
    // The others are read while the first is written over.
    const bool is_written = overwrites && &read == reads.data();
    read.each([&](const Tensor& tensor) {
      const bool may_be_read = !tensor.defined() || (is_written && tensor.is_same(given));
      is_free = is_free && (may_be_read || !may_overlap(given, tensor));
    });
  }
  // Another tensor of that memory: kernels may put their result into new memory, too.
  if (is_free) return make_view(given, View{given.sizes(), given.strides(), given.offset()});
  return empty(sizes, dtype, device);
}

const Tensor& placed(const Destination& to, const Tensor& result, const char* op) {
  const Tensor& given = to.tensor;
  const bool is_there = result.storage() == given.storage() && result.offset() == given.offset() &&
                        equal(result.sizes(), given.sizes());
  if (is_there) return given;
  if (to.inplace) {
    autograd::check_fits(given, result, op);
    copy_data(given, result);
  } else {
    autograd::place_out({{given, result}}, op);
  }
  return given;
}

Tensor gradient(const char* op, PromotionRule rule, std::span<const Operand> inputs,
                FunctionRef<void(Iterator&)> kernel, const autograd::Edge& edge) {
  Tensor computed;
  const WantedGradient wanted[] = {{edge, computed}};
  gradients(op, rule, inputs, kernel, wanted);
  return computed;
}

}  // namespace flambeau::forms::detail
