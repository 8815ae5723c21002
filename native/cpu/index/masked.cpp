#include "core/geometry/broadcast.h"
#include "core/types/element_types.h"
#include "cpu/blocks.h"
#include "cpu/walk.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// The tensor broadcast to a shape, without a copy.
Tensor expanded(const Tensor& tensor, const Shape& sizes) {
  Shape strides(sizes.size(), 0);
  const size_t lead = sizes.size() - tensor.sizes().size();
  for (size_t d = lead; d < sizes.size(); ++d) {
    strides[d] = tensor.sizes()[d - lead] == 1 ? 0 : tensor.strides()[d - lead];
  }
  return make_view(tensor, sizes, strides, tensor.offset());
}

int64_t count_true(const Tensor& mask) {
  int64_t count = 0;
  const auto* const chosen = mask.data<Boolean>();
  for (int64_t i = 0; i < mask.numel(); ++i) count += chosen[i] ? 1 : 0;
  return count;
}

/// Calls body(element of the tensor) where the mask holds, in row-major order, for as many elements
/// as were counted: others may have changed the mask since.
template <class T, class Body>
void for_chosen(const Tensor& tensor, const Tensor& mask, int64_t count, const Body& body) {
  if (tensor.numel() == 0) return;
  const Rows<2> rows(tensor.sizes(), {IntList(tensor.strides()), IntList(mask.strides())});
  T* const data = tensor.data<T>();
  const auto* const chosen = mask.data<Boolean>();
  rows.walk(0, rows.count(), [&](const std::array<int64_t, 2>& at) {
    for (int64_t i = 0; i < rows.length(); ++i) {
      if (chosen[at[1] + i * rows.step(1)] && count-- > 0) body(data[at[0] + i * rows.step(0)]);
    }
  });
}

}  // namespace

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const Shape sizes = broadcast_shapes(self.sizes(), mask.sizes(), "masked_select");
  const Tensor values = expanded(self, sizes);
  const Tensor chosen = contiguous_data(expanded(mask, sizes));
  const int64_t count = count_true(chosen);
  const Tensor result = flambeau::empty(Shape{count}, self.dtype(), self.device());
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* out = result.data<T>();
    for_chosen<T>(values, chosen, count, [&](const T& value) { *out++ = value; });
  });
  return result;
}

void masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Tensor chosen = contiguous_data(expanded(mask, self.sizes()));
  const int64_t count = count_true(chosen);
  check(count <= source.numel(), ErrorKind::runtime, "masked_scatter_(): the mask selects ", count,
        " elements, source of shape ", source.sizes(), " has only ", source.numel());
  const Tensor values = contiguous_data(source);
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    const T* next = values.data<T>();
    for_chosen<T>(self, chosen, count, [&](T& place) { place = *next++; });
  });
}

void masked_scatter_source_grad(const Tensor& result, const Tensor& grad_output, const Tensor& mask,
                                IntList) {
  fill_data(result, 0);
  const Tensor chosen = contiguous_data(expanded(mask, grad_output.sizes()));
  with_size(static_cast<int64_t>(result.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* out = result.data<T>();
    for_chosen<T>(grad_output, chosen, result.numel(), [&](const T& value) { *out++ = value; });
  });
}

}  // namespace flambeau::cpu
