// Views that regroup dimensions.

#include <algorithm>

#include "core/tensor/views.h"

namespace flambeau::views {

Shape infer_size(IntList size, int64_t numel, const char* op) {
  Shape result(size);
  int64_t known = 1;
  int inferred = -1;
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] == -1) {
      check(inferred < 0, ErrorKind::runtime, op, ": only one size can be -1, got ",
            ShapeText{size});
      inferred = static_cast<int>(d);
    } else {
      check(size[d] >= 0, ErrorKind::runtime, op,
            ": sizes must not be negative (except one -1), got ", ShapeText{size});
      check(!__builtin_mul_overflow(known, size[d], &known), ErrorKind::runtime, op, ": shape ",
            ShapeText{size}, " does not fit 64 bits");
    }
  }
  if (inferred >= 0) {
    check(known != 0, ErrorKind::runtime, op, ": the -1 in ", ShapeText{size},
          " could be any size, because the other sizes hold no elements");
    check(numel % known == 0, ErrorKind::runtime, op, ": shape ", ShapeText{size}, " with ", known,
          " known elements does not divide the ", numel, " elements of the tensor");
    result[inferred] = numel / known;
  } else {
    check(known == numel, ErrorKind::runtime, op, ": shape ", ShapeText{size}, " has ", known,
          " elements, the tensor has ", numel);
  }
  return result;
}

namespace {
/// Strides of `shape` over the memory of `self`, none when some new dim would have to step
/// unevenly.
std::optional<Shape> regrouped_strides(const Tensor& self, IntList shape) {
  const Shape &sizes = self.sizes(), &strides = self.strides();
  if (self.numel() == 0) return equal(sizes, shape) ? strides : contiguous_strides(shape);
  Shape result(shape.size(), 1);
  size_t next = shape.size();  // new dims from here on have their strides
  // Groups of old dims that step evenly through memory, from the last one on; each must be filled
  // exactly by new dims.
  for (size_t end = sizes.size(); end > 0;) {
    while (end > 0 && sizes[end - 1] == 1) --end;
    if (end == 0) break;
    size_t begin = end - 1;
    const int64_t stride = strides[end - 1];
    int64_t group = sizes[end - 1];
    while (begin > 0 && (sizes[begin - 1] == 1 || strides[begin - 1] == stride * group))
      group *= sizes[--begin];
    int64_t filled = 1;
    while (next > 0 && (filled < group || shape[next - 1] == 1)) {
      --next;
      result[next] = stride * filled;
      filled *= shape[next];
    }
    if (filled != group) return std::nullopt;
    end = begin;
  }
  return result;
}
}  // namespace

std::optional<View> try_view(const Tensor& self, IntList size, const char* op) {
  Shape shape = infer_size(size, self.numel(), op);
  if (self.is_contiguous()) return View{shape, contiguous_strides(shape), self.offset()};
  std::optional<Shape> strides = regrouped_strides(self, shape);
  if (!strides) return std::nullopt;
  return View{std::move(shape), std::move(*strides), self.offset()};
}

namespace {
/// Row-major strides, written in place.
void set_contiguous_strides(View& view) {
  const size_t rank = view.sizes.size();
  view.strides.reset(rank);
  uint64_t step = 1;  // unsigned: the strides of an empty tensor may wrap around
  for (size_t d = rank; d-- > 0;) {
    view.strides[d] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(view.sizes[d], 1));
  }
}
}  // namespace

View view(const Tensor& self, IntList size) {
  if (self.is_contiguous()) {
    View dense{infer_size(size, self.numel(), "view"), Shape(), self.offset()};
    set_contiguous_strides(dense);
    return dense;
  }
  std::optional<View> result = try_view(self, size, "view");
  check(result.has_value(), ErrorKind::runtime, "view: a tensor of shape ", self.sizes(),
        " and strides ", self.strides(), " cannot be seen as ", ShapeText{size},
        " without a copy: a new dimension would span memory that is not evenly spaced; use "
        "reshape()");
  return std::move(*result);
}

View flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t rank = self.dim();
  start_dim = wrap_dim(start_dim, rank, "flatten");
  end_dim = wrap_dim(end_dim, rank, "flatten");
  check(start_dim <= end_dim, ErrorKind::runtime, "flatten: argument start_dim (", start_dim,
        ") comes after end_dim (", end_dim, ")");
  if (rank == 0) return view(self, Shape{1});
  Shape size;
  int64_t merged = 1;
  for (int64_t d = 0; d < rank; ++d) {
    if (d < start_dim || d > end_dim) {
      size.push_back(self.sizes()[d]);
    } else {
      merged *= self.sizes()[d];
      if (d == end_dim) size.push_back(merged);
    }
  }
  return view(self, size);
}

View unflatten(const Tensor& self, int64_t dim, IntList sizes) {
  dim = wrap_dim(dim, self.dim(), "unflatten");
  check(!sizes.empty() && self.dim() > 0, ErrorKind::runtime,
        "unflatten: expected a tensor with dimensions and at least one size, got shape ",
        self.sizes(), " and sizes ", ShapeText{sizes});
  const Shape inner = infer_size(sizes, self.sizes()[dim], "unflatten");
  View result = alias(self);
  const int64_t stride = self.strides()[dim];
  result.sizes.erase(static_cast<size_t>(dim));
  result.strides.erase(static_cast<size_t>(dim));
  int64_t step = stride;
  for (size_t i = inner.size(); i-- > 0;) {
    result.sizes.insert(static_cast<size_t>(dim), inner[i]);
    result.strides.insert(static_cast<size_t>(dim), step);
    step *= std::max<int64_t>(inner[i], 1);
  }
  return result;
}

}  // namespace flambeau::views
