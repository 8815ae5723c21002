#include "cpu/nn/pool_channels.h"

#include <limits>

#include "core/geometry/memory_format.h"
#include "cpu/channels_last.h"

namespace flambeau::cpu {

ChannelImages channel_images(const Tensor& tensor) {
  const IntList sizes = tensor.sizes(), strides = tensor.strides();
  const size_t rank = sizes.size();
  const int64_t layer_step = rank == 5 ? strides[2] : 0;
  return {sizes[0], sizes[1], strides[0], layer_step, strides[rank - 2], strides[rank - 1]};
}

bool is_by_channels(const Tensor& result, const Tensor& other, int64_t channels) {
  const IntList sizes = result.sizes();
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  return (sizes.size() == 4 || sizes.size() == 5) && sizes[1] >= channels &&
         equal(result.strides(), channels_last_strides(sizes)) && result.numel() <= most &&
         other.numel() <= most;
}

Tensor by_channels(const Tensor& tensor, DType dtype) {
  const IntList strides = tensor.strides();
  if (is_channels_last(tensor.sizes(), strides) && strides[1] == 1 && tensor.dtype() == dtype)
    return tensor;
  const Tensor copy = empty_channels_last(tensor.sizes(), dtype);
  copy_data(copy, tensor);
  return copy;
}

}  // namespace flambeau::cpu
