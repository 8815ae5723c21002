#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/blocks.h"
#include "cpu/channels_last.h"
#include "cpu/short_rows.h"
#include "cpu/walk.h"
#include "kernels/shape.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kShort = 256;  // bytes of a block that is not worth a call

/// Calls body(size) with sizes that a copy needs no call for as constants.
template <class Body>
void with_size(int64_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(std::integral_constant<size_t, 1>());
    case 2:
      return body(std::integral_constant<size_t, 2>());
    case 4:
      return body(std::integral_constant<size_t, 4>());
    case 8:
      return body(std::integral_constant<size_t, 8>());
    case 16:
      return body(std::integral_constant<size_t, 16>());
    default:
      return body(static_cast<size_t>(bytes));
  }
}

/// The same of short blocks, which are copied whole.
void copy_short_blocks(char* destination, const char* source, int64_t outer, int64_t bytes,
                       int64_t pitch) {
  parallel_for(0, outer, std::max<int64_t>(1, kCopyGrain / bytes), [&](int64_t begin, int64_t end) {
    with_size(bytes, [&](auto size) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<decltype(size), size_t>) {
          copy_row(destination + i * pitch, source + i * bytes, bytes);
        } else {
          memcpy(destination + i * pitch, source + i * bytes, size);
        }
      }
    });
  });
}

/// Copies dense `source` of blocks [outer][bytes] into rows of `pitch` bytes.
void copy_blocks(char* destination, const char* source, int64_t outer, int64_t bytes,
                 int64_t pitch) {
  if (bytes <= kShort) return copy_short_blocks(destination, source, outer, bytes, pitch);
  parallel_for(0, outer * bytes, kCopyGrain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / bytes, skipped = begin % bytes;
      const int64_t count = std::min(bytes - skipped, end - begin);
      copy_dense(destination + block * pitch + skipped, source + begin, count);
      begin += count;
    }
  });
}

/// Joins tensors whose parts of `dim` have the given sizes; `result` is dense.
void join(const Tensor& result, TensorList tensors, Dim dim, bool stacked) {
  const DimBlocks blocks(result.sizes(), dim);
  const int64_t itemsize = static_cast<int64_t>(result.itemsize());
  const int64_t pitch = blocks.size * blocks.inner * itemsize;
  int64_t position = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() == 1 && tensor.numel() == 0 && !stacked) continue;
    const int64_t size = stacked ? 1 : tensor.size(dim);
    if (tensor.numel() != 0) {
      if (tensor.is_contiguous() && tensor.dtype() == result.dtype()) {
        char* start = static_cast<char*>(result.raw_data()) + position * blocks.inner * itemsize;
        copy_blocks(start, static_cast<const char*>(tensor.raw_data()), blocks.outer,
                    size * blocks.inner * itemsize, pitch);
      } else {
        copy_data(make_view(result, stacked ? views::select(result, dim, position)
                                            : views::narrow(result, dim, position, size)),
                  tensor);
      }
    }
    position += size;
  }
}

}  // namespace

void cat(const Tensor& result, TensorList tensors, Dim dim) {
  if (result.is_contiguous()) return join(result, tensors, dim, false);
  // Channels-last images, by dims as they lie.
  const int64_t rank = result.dim();
  std::vector<Tensor> turned;
  for (const Tensor& tensor : tensors)
    if (tensor.dim() == rank) turned.push_back(with_channels_inside(tensor));
  const int64_t place = dim == 0 ? 0 : dim == 1 ? rank - 1 : dim - 1;
  join(with_channels_inside(result), turned, Dim(place, rank, {"cat", "dim"}), false);
}

void stack(const Tensor& result, TensorList tensors, Dim dim) { join(result, tensors, dim, true); }

}  // namespace flambeau::cpu
