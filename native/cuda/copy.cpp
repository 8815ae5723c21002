#include "cuda/copy.h"

#include <cuda_runtime_api.h>

#include "core/iteration/copy.h"
#include "core/iteration/iterator.h"
#include "core/tensor/overlap.h"
#include "cuda/device.h"
#include "cuda/layout.h"

namespace flambeau::cuda {

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

void copy_on_device(const Tensor& destination, const Tensor& source) {
  if (same_block(destination, source)) {
    const int device = destination.device().index;
    const DeviceGuard guard(device);
    FLAMBEAU_CUDA(cudaMemcpyAsync(destination.raw_data(), source.raw_data(),
                                  byte_count(destination), cudaMemcpyDeviceToDevice,
                                  current_stream(device)));
    return;
  }
  int walked = 0;
  for (const int64_t size : destination.sizes()) walked += size != 1;
  if (walked > kMapRank) {
    // The iterator takes fewer dims, and itself relies on copies: the outermost is taken apart.
    const auto slice = [](const Tensor& tensor, size_t dim, int64_t index) {
      Shape sizes = tensor.sizes(), strides = tensor.strides();
      const int64_t offset = tensor.offset() + index * strides[dim];
      sizes.erase(dim);
      strides.erase(dim);
      return make_view(tensor, sizes, strides, offset);
    };
    size_t dim = 0;
    while (destination.sizes()[dim] == 1) ++dim;
    for (int64_t i = 0; i < destination.sizes()[dim]; ++i)
      copy_on_device(slice(destination, dim, i), slice(source, dim, i));
    return;
  }
  Iterator iter("copy");
  iter.add_output(destination, destination.dtype());
  iter.add_input(source);
  iter.build({.promoted = 0});
  if (destination.dtype() != source.dtype()) {
    const DTypeCategory kind = category(source.dtype());
    return kind == DTypeCategory::floating || kind == DTypeCategory::complex
               ? convert_from_floating(iter)
               : convert_from_integral(iter);
  }
  if (!copy_transposed(iter)) copy_words(iter);
}

/// Dense, row-major, in `dtype`, where the tensor lies.
Tensor dense(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return contiguous_data(tensor);
  const Tensor result = empty(tensor.sizes(), dtype, tensor.device());
  copy_data(result, tensor);
  return result;
}

void copy_between_devices(const Tensor& destination, const Tensor& source) {
  if (destination.device() == source.device()) return copy_on_device(destination, source);
  const Tensor packed = dense(source, destination.dtype());
  const int from = source.device().index, to = destination.device().index;
  const Tensor landed = destination.is_contiguous()
                            ? destination
                            : empty(destination.sizes(), destination.dtype(), destination.device());
  {
    // The target may still be in use on its own device, and the source not be finished on its.
    synchronize(to);
    const DeviceGuard guard(from);
    const cudaStream_t stream = current_stream(from);
    FLAMBEAU_CUDA(cudaMemcpyPeerAsync(landed.raw_data(), to, packed.raw_data(), from,
                                      byte_count(landed), stream));
    FLAMBEAU_CUDA(cudaStreamSynchronize(stream));
  }
  if (!landed.is_same(destination)) copy_on_device(destination, landed);
}

/// Whether the driver can read host memory while the host goes on: it was page-locked.
bool is_pinned(const void* host) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, host) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

void copy_to_device(const Tensor& destination, const Tensor& source) {
  const int device = destination.device().index;
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device);
  const auto send = [&](const Tensor& target, const Tensor& host) {
    FLAMBEAU_CUDA(cudaMemcpyAsync(target.raw_data(), host.raw_data(), byte_count(target),
                                  cudaMemcpyHostToDevice, stream));
    // Other memory has been read when the call returns; this one the caller might change too early.
    if (is_pinned(host.raw_data())) FLAMBEAU_CUDA(cudaStreamSynchronize(stream));
  };
  if (same_block(destination, source)) return send(destination, source);
  // Fewer bytes travel: a narrowing conversion happens here, a widening one there.
  const DType dtype =
      destination.itemsize() < source.itemsize() ? destination.dtype() : source.dtype();
  const Tensor packed = dense(source, dtype);
  if (same_block(destination, packed)) return send(destination, packed);
  const Tensor landed = empty(destination.sizes(), dtype, destination.device());
  send(landed, packed);
  copy_on_device(destination, landed);
}

void copy_to_host(const Tensor& destination, const Tensor& source) {
  const int device = source.device().index;
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device);
  const auto fetch = [&](const Tensor& host, const Tensor& origin) {
    FLAMBEAU_CUDA(cudaMemcpyAsync(host.raw_data(), origin.raw_data(), byte_count(origin),
                                  cudaMemcpyDeviceToHost, stream));
    FLAMBEAU_CUDA(cudaStreamSynchronize(stream));
  };
  if (same_block(destination, source)) return fetch(destination, source);
  const DType dtype =
      destination.itemsize() < source.itemsize() ? destination.dtype() : source.dtype();
  const Tensor packed = dense(source, dtype);
  if (same_block(destination, packed)) return fetch(destination, packed);
  const Tensor landed = empty(destination.sizes(), dtype, Device{});
  fetch(landed, packed);
  copy_data(destination, landed);
}

void fill(const Tensor& tensor, const Scalar& value) {
  Iterator iter("fill");
  iter.add_output(tensor, tensor.dtype());
  iter.add_input(Operand(value));
  iter.set_common_dtype(tensor.dtype());
  iter.set_shape(tensor.sizes());
  iter.build({.promoted = 1});
  copy_words(iter);
}

struct RegisterCopies {
  RegisterCopies() {
    register_copy(Backend::cpu, Backend::cuda, &copy_to_device);
    register_copy(Backend::cuda, Backend::cpu, &copy_to_host);
    register_copy(Backend::cuda, Backend::cuda, &copy_between_devices);
    register_fill(Backend::cuda, &fill);
  }
} const register_copies;

}  // namespace
}  // namespace flambeau::cuda
