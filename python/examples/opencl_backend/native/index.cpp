#include "backend.h"
#include "core/backends/dispatch.h"
#include "core/geometry/arguments.h"
#include "core/iteration/iterator.h"
#include "core/tensor/tensor.h"
#include "map.h"
#include "texts.h"

namespace flambeau::opencl {
namespace {

/// A flag that kernels raise where an index is out of range.
class RangeCheck {
 public:
  explicit RangeCheck(Device device) : flag_(empty({}, DType::int32, device)) {
    fill_data(flag_, 0);
  }
  const void* address() const { return flag_.raw_data(); }
  /// Waits for the kernel. Error(index) naming the operator, the dim and its size.
  void raise_if_failed(const char* op, int64_t dim, int64_t size) const {
    check(item(flag_).to<int64_t>() == 0, ErrorKind::index, op,
          "(): an index is out of range for dim ", dim, " of size ", size);
  }

 private:
  Tensor flag_;
};

Tensor at_least_1d(const Tensor& tensor) {
  return tensor.dim() > 0 ? tensor : make_view(tensor, Shape{1}, Shape{1}, tensor.offset());
}

/// `tensor` over the places of `sizes`, its first element for all indices of `dim`.
Tensor along(const Tensor& tensor, IntList sizes, size_t dim, bool single) {
  Shape extents(sizes), strides = tensor.strides();
  if (single) extents[dim] = 1;
  strides[dim] = 0;
  return make_view(tensor, extents, strides, tensor.offset());
}

int64_t byte_step(const Tensor& tensor, size_t dim) {
  return tensor.strides()[dim] * static_cast<int64_t>(tensor.itemsize());
}

void gather(const Tensor& given_result, const Tensor& given, Dim given_dim,
            const Tensor& given_index) {
  if (given_result.numel() == 0) return;
  const Tensor result = at_least_1d(given_result), self = at_least_1d(given),
               index = at_least_1d(given_index);
  const auto dim = static_cast<size_t>(wrap_dim(given_dim, self.dim(), "gather"));
  const Tensor places = along(self, index.sizes(), dim, false);
  const RangeCheck range(self.device());
  Iterator iter("gather");
  iter.add_output(result, result.dtype());
  iter.add_input(index);
  iter.add_input(places);
  iter.build({.promoted = 0});
  Arguments arguments;
  arguments.integer(self.sizes()[dim]);
  arguments.integer(byte_step(self, dim));
  arguments.pointer(range.address());
  map("gather", texts::index, iter, arguments);
  range.raise_if_failed("gather", given_dim, self.sizes()[dim]);
}

void scatter(const char* op, const Tensor& given, int64_t given_dim, const Tensor& given_index,
             const Tensor& given_source, bool adds) {
  if (given_index.numel() == 0) return;
  check_dtype(op, given.dtype(),
              adds ? ~dtype_mask({DType::complex64, DType::complex128}) : ~uint32_t{0});
  const Tensor self = at_least_1d(given), index = at_least_1d(given_index),
               source = at_least_1d(given_source);
  const auto dim = static_cast<size_t>(wrap_dim(given_dim, self.dim(), op));
  const Tensor lines = along(self, index.sizes(), dim, true),
               indices = along(index, index.sizes(), dim, true),
               sources = along(source, index.sizes(), dim, true);
  const RangeCheck range(self.device());
  // All are inputs to the iterator: the lines of self share no element.
  Iterator iter(op);
  iter.add_in_out(lines);
  iter.add_input(indices);
  iter.add_input(sources);
  iter.set_common_dtype(self.dtype());
  iter.build({.promoted = 0});
  Arguments arguments;
  arguments.integer(index.sizes()[dim]);
  arguments.integer(self.sizes()[dim]);
  for (const Tensor* tensor : {&self, &index, &source}) arguments.integer(byte_step(*tensor, dim));
  arguments.flag(adds);
  arguments.pointer(range.address());
  map("scatter", texts::index, iter, arguments);
  range.raise_if_failed(op, given_dim, self.sizes()[dim]);
}

void scatter_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& source) {
  scatter("scatter_", self, dim, index, source, false);
}
void scatter_add_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& source) {
  scatter("scatter_add_", self, dim, index, source, true);
}

const Register register_gather{"gather", backend(), &gather};
const Register register_scatter{"scatter_", backend(), &scatter_};
const Register register_scatter_add{"scatter_add_", backend(), &scatter_add_};

}  // namespace
}  // namespace flambeau::opencl
