#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/blocks.h"
#include "cpu/channels_last.h"
#include "cpu/short_rows.h"
#include "cpu/transpose.h"
#include "cpu/walk.h"
#include "kernels/shape.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kShort = 256;  // bytes of a block that is not worth a call

/// Calls body(size) with sizes that a copy needs no call for as constants.
template <class Body>
void with_constant_size(int64_t bytes, const Body& body) {
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
    with_constant_size(bytes, [&](auto size) {
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

/// An element of each of two in turns, in one pass, as each line of the result has some of both.
template <class Word>
void interleave(Word* result, const Word* first, const Word* second, int64_t count) {
  const int64_t grain = kCopyGrain / (2 * static_cast<int64_t>(sizeof(Word)));
  parallel_for(0, count, grain, [=](int64_t begin, int64_t end) {
    constexpr int64_t block = kBlock<Word>;
    int64_t i = begin;
    for (; i + block <= end; i += block) interleave_block(result + 2 * i, first + i, second + i);
    for (; i < end; ++i) {
      result[2 * i] = first[i];
      result[2 * i + 1] = second[i];
    }
  });
}

/// Whether `tensors` are two of dense elements that lie in turns in `result`.
bool are_pairs(const Tensor& result, TensorList tensors, const DimBlocks& blocks) {
  const auto is_dense = [&](const Tensor& tensor) {
    return tensor.is_contiguous() && tensor.dtype() == result.dtype();
  };
  return blocks.inner == 1 && blocks.size == 2 && tensors.size() == 2 && is_dense(tensors[0]) &&
         is_dense(tensors[1]) && tensors[0].numel() == tensors[1].numel();
}

/// Joins tensors whose parts of `dim` have the given sizes; `result` is dense.
void join(const Tensor& result, TensorList tensors, Dim dim, bool stacked) {
  const DimBlocks blocks(result.sizes(), dim);
  const int64_t itemsize = static_cast<int64_t>(result.itemsize());
  if (are_pairs(result, tensors, blocks)) {
    return with_size(itemsize, [&](auto word) {
      using Word = decltype(word);
      interleave(static_cast<Word*>(result.raw_data()),
                 static_cast<const Word*>(tensors[0].raw_data()),
                 static_cast<const Word*>(tensors[1].raw_data()), blocks.outer);
    });
  }
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
