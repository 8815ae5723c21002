#include "core/iteration/copy.h"

#include "backend.h"
#include "context.h"
#include "core/iteration/iterator.h"
#include "core/tensor/overlap.h"
#include "map.h"
#include "texts.h"

namespace flambeau::opencl {
namespace {

size_t byte_count(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.itemsize();
}

/// Both fill one block of memory in the same order.
bool same_block(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  if (!equal(a.strides(), b.strides())) return false;
  for (const int64_t stride : a.strides())
    if (stride < 0) return false;  // the first element is not the lowest
  return is_non_overlapping_dense(a.sizes(), a.strides());
}

void copy_bytes(void* to, const void* from, size_t bytes, bool waits) {
  check_cl(
      clEnqueueSVMMemcpy(Context::instance().queue, waits, to, from, bytes, 0, nullptr, nullptr),
      "clEnqueueSVMMemcpy");
}

void copy_on_device(const Tensor& destination, const Tensor& source) {
  if (same_block(destination, source))
    return copy_bytes(destination.raw_data(), source.raw_data(), byte_count(source), false);
  const bool converts = destination.dtype() != source.dtype();
  for (const Tensor* tensor : {&destination, &source})
    check(!converts || !is_complex(tensor->dtype()), ErrorKind::not_implemented,
          "copy: no kernel converts ", source.dtype(), " to ", destination.dtype(),
          " on device opencl");
  Iterator iter("copy");
  iter.add_output(destination, destination.dtype());
  iter.add_input(source);
  iter.build({.promoted = 0});
  map("copy", texts::copy, iter, Arguments());
}

/// Elements travel densely, in the dtype that takes fewer bytes; each side does what is left.
void copy_between(const Tensor& destination, const Tensor& source) {
  const bool narrows = destination.itemsize() < source.itemsize();
  const Tensor packed = contiguous_data(narrows ? cast_data(source, destination.dtype()) : source);
  if (same_block(destination, packed))
    return copy_bytes(destination.raw_data(), packed.raw_data(), byte_count(packed), true);
  const Tensor landed = empty(packed.sizes(), packed.dtype(), destination.device());
  copy_bytes(landed.raw_data(), packed.raw_data(), byte_count(packed), true);
  copy_data(destination, landed);
}

void fill(const Tensor& tensor, const Scalar& value) {
  Iterator iter("fill");
  iter.add_output(tensor, tensor.dtype());
  iter.add_input(Operand(value));
  iter.set_common_dtype(tensor.dtype());
  iter.set_shape(tensor.sizes());
  iter.build({.promoted = 1});
  map("copy", texts::copy, iter, Arguments());
}

struct RegisterCopies {
  RegisterCopies() {
    register_copy(Backend::cpu, backend(), &copy_between);
    register_copy(backend(), Backend::cpu, &copy_between);
    register_copy(backend(), backend(), &copy_on_device);
    register_fill(backend(), &fill);
  }
} const register_copies;

}  // namespace
}  // namespace flambeau::opencl
