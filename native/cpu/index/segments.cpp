#include "kernels/segments.h"
#include "cpu/index/segment_runs.h"
#include "cpu/walk.h"

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

void segments_of(const Tensor& result, const Tensor& offsets, int64_t n) {
  if (result.numel() == 0) return;
  const int64_t each = offsets.size(-1);
  int64_t* const out = result.data<int64_t>();
  SegmentRuns(offsets, n)
      .parallel(1, [=](int64_t first, int64_t last, int64_t row, int64_t segment) {
        std::fill(out + row * n + first, out + row * n + last, row * each + segment);
      });
}

void segment_sums_grad(const Tensor& result, const Tensor& grad_output, const Tensor& bounds,
                       int64_t n) {
  if (result.numel() == 0) return;
  const Tensor grad = contiguous_data(grad_output);
  const int64_t segments = grad.size(1), inner = grad.size(2);
  with_size(static_cast<int64_t>(grad.itemsize()), [&](auto element) {
    using T = decltype(element);
    const T* const from = grad.data<T>();
    T* const to = result.data<T>();
    SegmentRuns(bounds, n).parallel(
        inner, [=](int64_t first, int64_t last, int64_t row, int64_t segment) {
          T* const begin = to + (row * n + first) * inner;
          T* const end = to + (row * n + last) * inner;
          const T* const value = from + (row * segments + segment) * inner;
          if (segment == segments) return std::fill(begin, end, T{});
          if (inner == 1) return std::fill(begin, end, *value);
          for (T* place = begin; place < end; place += inner) std::copy_n(value, inner, place);
        });
  });
}

}  // namespace flambeau::cpu
