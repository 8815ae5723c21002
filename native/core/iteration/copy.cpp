#include "core/iteration/copy.h"

#include <array>

#include "core/backends/dispatch.h"
#include "core/tensor/overlap.h"

namespace flambeau {

namespace {
// Plain pointers: backends register while they load, before anybody calls.
std::array<std::array<CopyFunction*, kMaxBackends>, kMaxBackends> copies{};
std::array<FillFunction*, kMaxBackends> fills{};
std::array<ItemFunction*, kMaxBackends> items{};

Tensor expanded(const Tensor& source, const Tensor& destination) {
  if (equal(source.sizes(), destination.sizes())) return source;
  const size_t rank = destination.sizes().size(), own = source.sizes().size();
  Shape strides(rank, 0);
  bool fits = own <= rank;
  for (size_t i = 0; fits && i < own; ++i) {
    const size_t d = rank - own + i;
    if (source.sizes()[i] == destination.sizes()[d]) {
      strides[d] = source.strides()[i];
    } else {
      fits = source.sizes()[i] == 1;
    }
  }
  check(fits, ErrorKind::runtime, "copy: shape ", source.sizes(),
        " of the source cannot be broadcast to shape ", destination.sizes(), " of the destination");
  return make_view(source, destination.sizes(), strides, source.offset());
}

Tensor dense_like(const Tensor& tensor, DType dtype, Device device);
}  // namespace

void register_copy(Backend from, Backend to, CopyFunction* copy) {
  copies[static_cast<int>(from)][static_cast<int>(to)] = copy;
}
void register_fill(Backend backend, FillFunction* fill) { fills[static_cast<int>(backend)] = fill; }
void register_item(Backend backend, ItemFunction* item) { items[static_cast<int>(backend)] = item; }

void copy_data(const Tensor& destination, const Tensor& given) {
  check(destination.defined() && given.defined(), ErrorKind::runtime,
        "copy: expected two tensors, got None");
  Tensor source = expanded(given, destination);
  const Backend from = source.device().backend, to = destination.device().backend;
  if (from == Backend::meta || to == Backend::meta) {
    check(to == Backend::meta, ErrorKind::not_implemented,
          "copy: a meta tensor has no data to copy to ", destination.device());
    return;
  }
  if (destination.numel() == 0) return;
  check_writable(destination, "copy");
  if (from == to && destination.dtype() == source.dtype() &&
      destination.raw_data() == source.raw_data() &&
      equal(destination.strides(), source.strides()) && destination.device() == source.device())
    return;
  if (from == to && may_overlap(destination, source)) {
    const Tensor separate = dense_like(source, source.dtype(), source.device());
    copy_data(separate, source);
    source = separate;
  }
  CopyFunction* copy = copies[static_cast<int>(from)][static_cast<int>(to)];
  if (!copy && from != Backend::cpu && to != Backend::cpu) {
    // Two foreign backends that do not know each other meet on the CPU.
    const Tensor between = empty(source.sizes(), source.dtype(), Device{});
    copy_data(between, source);
    return copy_data(destination, between);
  }
  check(copy != nullptr, ErrorKind::not_implemented, "copy: no kernel copies from ",
        source.device(), " to ", destination.device());
  copy(destination, source);
}

namespace {
/// An empty tensor with the dim order of `tensor` if that is dense, row-major otherwise.
Tensor dense_like(const Tensor& tensor, DType dtype, Device device) {
  if (tensor.is_contiguous() || !is_non_overlapping_dense(tensor.sizes(), tensor.strides()))
    return empty(tensor.sizes(), dtype, device);
  return empty_strided(tensor.sizes(), tensor.strides(), dtype, device);
}
}  // namespace

Tensor contiguous_data(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor result = empty(tensor.sizes(), tensor.dtype(), tensor.device());
  copy_data(result, tensor);
  return result;
}

Tensor cast_data(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result = dense_like(tensor, dtype, tensor.device());
  copy_data(result, tensor);
  return result;
}

void fill_data(const Tensor& tensor, const Scalar& value) {
  const Backend backend = tensor.device().backend;
  if (tensor.numel() == 0 || backend == Backend::meta) return;
  FillFunction* fill = fills[static_cast<int>(backend)];
  check(fill != nullptr, ErrorKind::not_implemented, "fill: no kernel for device ",
        tensor.device());
  fill(tensor, value);
}

Scalar item(const Tensor& tensor) {
  check(tensor.numel() == 1, ErrorKind::runtime, "item: a tensor with ", tensor.numel(),
        " elements (shape ", tensor.sizes(), ") cannot become a number; expected one element");
  const Backend backend = tensor.device().backend;
  check(backend != Backend::meta, ErrorKind::runtime, "item: a meta tensor has no data");
  ItemFunction* read = items[static_cast<int>(backend)];
  if (read) return read(tensor);
  const Tensor host = empty(tensor.sizes(), tensor.dtype(), Device{});
  copy_data(host, tensor);
  return items[static_cast<int>(Backend::cpu)](host);
}

}  // namespace flambeau
