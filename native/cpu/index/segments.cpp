#include "kernels/segments.h"
#include "cpu/blocks.h"

namespace flambeau::cpu {

void segment_bounds(const Tensor& result, const Tensor& lengths, int64_t n, bool unsafe) {
  const Tensor dense = dense_indices(lengths);
  const int64_t count = lengths.size(-1), rows = result.numel() / (count + 1);
  const int64_t* length = dense.data<int64_t>();
  int64_t* out = result.data<int64_t>();
  for (int64_t row = 0; row < rows; ++row) {
    uint64_t end = 0;  // lengths that are not checked may be anything
    *out++ = 0;
    for (int64_t i = 0; i < count; ++i, ++length) {
      check(unsafe || *length >= 0, ErrorKind::runtime,
            "segment_reduce(): lengths must not be negative, got ", *length);
      end += static_cast<uint64_t>(*length);
      *out++ = static_cast<int64_t>(end);
    }
    check(unsafe || static_cast<int64_t>(end) == n, ErrorKind::runtime,
          "segment_reduce(): the lengths of each row must add up to ", n,
          ", the size of the dim that they divide, got ", static_cast<int64_t>(end));
  }
}

void segment_offsets(const Tensor& result, const Tensor& offsets, int64_t n) {
  const Tensor dense = dense_indices(offsets);
  const int64_t count = offsets.size(-1);
  for (int64_t i = 0; i < result.numel(); ++i) {
    const int64_t offset = dense.data<int64_t>()[i];
    const int64_t least = i % count == 0 ? 0 : dense.data<int64_t>()[i - 1];
    check(offset >= least && offset <= n, ErrorKind::runtime,
          "segment_reduce(): offsets must ascend from at least 0 to at most ", n,
          ", the size of the dim that they divide, got ", offset, " behind ", least);
    result.data<int64_t>()[i] = offset;
  }
}

}  // namespace flambeau::cpu
