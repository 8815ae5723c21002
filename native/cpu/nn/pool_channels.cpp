#include "cpu/nn/pool_channels.h"

#include <limits>

namespace flambeau::cpu {

std::optional<ChannelImages> channel_images(const Tensor& input) {
  constexpr int64_t kFew = 8;  // channels that vectors are not worth it for
  const size_t rank = input.sizes().size();
  if (rank != 3 && rank != 4) return {};
  const IntList sizes = input.sizes(), strides = input.strides();
  const int64_t channels = sizes[rank - 3], rows = sizes[rank - 2], columns = sizes[rank - 1];
  const bool is_so = strides[rank - 3] == 1 && (columns == 1 || strides[rank - 1] >= channels) &&
                     (rows == 1 || strides[rank - 2] >= channels) && rows * columns > 1;
  const bool is_narrow = rows * columns <= std::numeric_limits<int32_t>::max();
  if (!is_so || !is_narrow || channels < kFew) return {};
  return ChannelImages{rank == 4 ? sizes[0] : 1, channels, rank == 4 ? strides[0] : 0,
                       strides[rank - 2], strides[rank - 1]};
}

}  // namespace flambeau::cpu
