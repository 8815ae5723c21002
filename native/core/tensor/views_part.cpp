// Views of a part of the elements.

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/base/checked.h"
#include "core/memory/system_memory.h"
#include "core/tensor/views.h"

namespace flambeau::views {

namespace {
void need_dims(const Tensor& self, const char* op) {
  check(self.dim() > 0, ErrorKind::index, op, ": a 0-d tensor has no dimension to take a part of");
}

/// Parts without elements cost memory all the same: more of them than any program can mean.
constexpr int64_t kEmptyParts = int64_t{1} << 20;

void check_parts(int64_t parts, int64_t size, const char* op, const char* argument) {
  check(parts <= std::max(size, kEmptyParts), ErrorKind::runtime, op, ": argument ", argument, " (",
        parts, ") is too large for a dimension of size ", size, "; expected at most ",
        std::max(size, kEmptyParts));
}

/// A vector with room for so many parts. Too many fail here, not after as many as the memory holds.
std::vector<View> room_for(int64_t parts) {
  if (parts > kEmptyParts) {  // a sanitizer's operator new ends the process instead
    const auto most = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(View));
    std::free(
        system_memory(static_cast<size_t>(std::min(parts, most)) * sizeof(View), alignof(View)));
  }
  std::vector<View> result;
  result.reserve(static_cast<size_t>(parts));
  return result;
}
/// Moves a view of `self` to an index of a dim. Only where there are no elements may that overflow:
/// strides may be any then, and the view stays where it is.
void move_to(View& view, const Tensor& self, int64_t dim, int64_t index) {
  int64_t distance = 0, offset = 0;
  if (!__builtin_mul_overflow(index, self.strides()[dim], &distance) &&
      !__builtin_add_overflow(view.offset, distance, &offset))
    view.offset = offset;
}
}  // namespace

View select(const Tensor& self, int64_t dim, int64_t index) {
  need_dims(self, "select");
  dim = wrap_dim(dim, self.dim(), "select");
  const int64_t size = self.sizes()[dim];
  check(index >= -size && index < size, ErrorKind::index, "select: index ", index,
        " is out of range for dimension ", dim, " of shape ", self.sizes());
  if (index < 0) index += size;
  View result = alias(self);
  move_to(result, self, dim, index);
  result.sizes.erase(static_cast<size_t>(dim));
  result.strides.erase(static_cast<size_t>(dim));
  return result;
}

View slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
           std::optional<int64_t> end, int64_t step) {
  need_dims(self, "slice");
  dim = wrap_dim(dim, self.dim(), "slice");
  check(step > 0, ErrorKind::value, "slice: argument step must be positive, got ", step);
  const int64_t size = self.sizes()[dim];
  const auto clamp = [&](int64_t i) {
    return i < 0 ? std::max<int64_t>(i + size, 0) : std::min(i, size);
  };
  const int64_t first = start ? clamp(*start) : 0;
  const int64_t last = std::max(end ? clamp(*end) : size, first);
  View result = alias(self);
  const int64_t length = last - first;
  result.sizes[dim] = length / step + (length % step != 0);
  move_to(result, self, dim, first);
  // A stride that is never taken must not overflow.
  if (__builtin_mul_overflow(self.strides()[dim], step, &result.strides[dim]))
    result.strides[dim] = self.strides()[dim];
  return result;
}

View narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  need_dims(self, "narrow");
  dim = wrap_dim(dim, self.dim(), "narrow");
  const int64_t size = self.sizes()[dim];
  check(length >= 0, ErrorKind::runtime, "narrow: argument length must not be negative, got ",
        length);
  check(start >= -size && start <= size, ErrorKind::index, "narrow: argument start (", start,
        ") is out of range for dimension ", dim, " of shape ", self.sizes());
  if (start < 0) start += size;
  check(length <= size - start, ErrorKind::runtime, "narrow: start (", start, ") + length (",
        length, ") exceeds the size ", size, " of dimension ", dim);
  View result = alias(self);
  result.sizes[dim] = length;
  move_to(result, self, dim, start);
  return result;
}

View diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim();
  check(rank >= 2, ErrorKind::runtime, "diagonal: expected at least 2 dimensions, got shape ",
        self.sizes());
  dim1 = wrap_dim(dim1, rank, "diagonal");
  dim2 = wrap_dim(dim2, rank, "diagonal");
  check(dim1 != dim2, ErrorKind::runtime, "diagonal: dim1 and dim2 are the same dimension, ", dim1);
  const int64_t rows = self.sizes()[dim1], columns = self.sizes()[dim2];
  offset = std::clamp(offset, -rows, columns);  // no element further out either
  const int64_t below = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const int64_t size = std::max<int64_t>(std::min(rows - below, columns - right), 0);
  View result = alias(self);
  if (size > 0 && self.numel() > 0)
    result.offset += below * self.strides()[dim1] + right * self.strides()[dim2];
  int64_t stride;
  if (__builtin_add_overflow(self.strides()[dim1], self.strides()[dim2], &stride))
    stride = 1;  // of no elements
  for (const int64_t dim : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    result.sizes.erase(static_cast<size_t>(dim));
    result.strides.erase(static_cast<size_t>(dim));
  }
  result.sizes.push_back(size);
  result.strides.push_back(stride);
  return result;
}

View as_strided(const Tensor& self, IntList size, IntList stride,
                std::optional<int64_t> storage_offset) {
  check(size.size() == stride.size(), ErrorKind::runtime, "as_strided: argument size ",
        ShapeText{size}, " and argument stride ", ShapeText{stride}, " differ in length");
  for (const int64_t step : stride)
    check(step >= 0, ErrorKind::runtime, "as_strided: strides must not be negative, got ",
          ShapeText{stride});
  const int64_t offset = storage_offset.value_or(self.offset());
  check(offset >= 0, ErrorKind::runtime,
        "as_strided: argument storage_offset must not be negative, got ", offset);
  return {Shape(size), Shape(stride), offset};
}

View unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t dim = wrap_dim(dimension, self.dim(), "unfold");
  const bool zero_dim = self.dim() == 0;
  const int64_t length = zero_dim ? 1 : self.sizes()[dim];
  check(size >= 0 && size <= length, ErrorKind::runtime, "unfold: argument size (", size,
        ") must be between 0 and the size ", length, " of dimension ", dim, " of shape ",
        self.sizes());
  check(step > 0, ErrorKind::runtime, "unfold: argument step must be positive, got ", step);
  View result = alias(self);
  const int64_t stride = zero_dim ? 1 : self.strides()[dim];
  if (!zero_dim) {
    result.sizes[dim] = (length - size) / step + 1;
    if (__builtin_mul_overflow(stride, step, &result.strides[dim])) result.strides[dim] = stride;
  }
  result.sizes.push_back(size);
  result.strides.push_back(stride);
  return result;
}

std::vector<View> split(const Tensor& self, int64_t split_size, int64_t dim) {
  need_dims(self, "split");
  dim = wrap_dim(dim, self.dim(), "split");
  const int64_t size = self.sizes()[dim];
  check(split_size > 0 || (split_size == 0 && size == 0), ErrorKind::runtime,
        "split: argument split_size must be positive, got ", split_size, " for dimension ", dim,
        " of shape ", self.sizes());
  if (size == 0) return {narrow(self, dim, 0, 0)};
  std::vector<View> result = room_for((size - 1) / split_size + 1);
  for (int64_t start = 0; start < size;) {
    const int64_t length = std::min(split_size, size - start);
    result.push_back(narrow(self, dim, start, length));
    start += length;
  }
  return result;
}

std::vector<View> split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) {
  need_dims(self, "split_with_sizes");
  dim = wrap_dim(dim, self.dim(), "split_with_sizes");
  int64_t total = 0;
  for (const int64_t size : split_sizes) {
    check(size >= 0, ErrorKind::runtime,
          "split_with_sizes: argument split_sizes must not be negative, got ",
          ShapeText{split_sizes});
    total = checked_add(total, size, "split_with_sizes");
  }
  check(total == self.sizes()[dim], ErrorKind::runtime, "split_with_sizes: argument split_sizes ",
        ShapeText{split_sizes}, " adds up to ", total, ", expected the size ", self.sizes()[dim],
        " of dimension ", dim, " of shape ", self.sizes());
  std::vector<View> result = room_for(static_cast<int64_t>(split_sizes.size()));
  int64_t start = 0;
  for (const int64_t size : split_sizes) {
    result.push_back(narrow(self, dim, start, size));
    start += size;
  }
  return result;
}

std::vector<View> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  need_dims(self, "chunk");
  check(chunks > 0, ErrorKind::runtime, "chunk: argument chunks must be positive, got ", chunks);
  dim = wrap_dim(dim, self.dim(), "chunk");
  const int64_t size = self.sizes()[dim];
  if (size == 0) {  // as many empty chunks as asked for
    check_parts(chunks, size, "chunk", "chunks");
    return std::vector<View>(static_cast<size_t>(chunks), narrow(self, dim, 0, 0));
  }
  return split(self, (size - 1) / chunks + 1, dim);
}

std::vector<View> unbind(const Tensor& self, int64_t dim) {
  need_dims(self, "unbind");
  dim = wrap_dim(dim, self.dim(), "unbind");
  std::vector<View> result = room_for(self.sizes()[dim]);
  for (int64_t i = 0; i < self.sizes()[dim]; ++i) result.push_back(select(self, dim, i));
  return result;
}

std::vector<View> diagonal_blocks(const Tensor& self, IntList heights, IntList widths) {
  std::vector<View> result = split_with_sizes(self, heights, 0);
  check(widths.size() == heights.size(), ErrorKind::runtime, "diagonal_blocks: expected ",
        heights.size(), " widths, one for each height, got ", ShapeText{widths});
  const std::vector<View> columns = split_with_sizes(self, widths, 1);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i].sizes[1] = columns[i].sizes[1];
    result[i].offset += columns[i].offset - self.offset();
  }
  return result;
}

}  // namespace flambeau::views
