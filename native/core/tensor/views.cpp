#include "core/tensor/views.h"

#include <algorithm>

#include "core/geometry/shape_rules.h"
#include "core/memory/alignment.h"

namespace flambeau {

Tensor make_view(const Tensor& base, const View& view, std::optional<DType> dtype) {
  return make_view(base, view.sizes, view.strides, view.offset, dtype);
}

namespace views {

View transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  return {shape_rules::swapped(self.sizes(), dim0, dim1, "transpose"),
          shape_rules::swapped(self.strides(), dim0, dim1, "transpose"), self.offset()};
}

View permute(const Tensor& self, IntList dims) {
  return {shape_rules::permuted(self.sizes(), dims, "permute"),
          shape_rules::permuted(self.strides(), dims, "permute"), self.offset()};
}

View t(const Tensor& self) {
  check(self.dim() <= 2, ErrorKind::runtime, "t: expected a tensor of at most 2 dimensions, got ",
        self.dim(), " (shape ", self.sizes(), ")");
  return self.dim() < 2 ? alias(self) : transpose(self, 0, 1);
}

View matrix_transpose(const Tensor& self) {
  check(self.dim() >= 2, ErrorKind::runtime,
        "mT: expected a tensor of at least 2 dimensions, got shape ", self.sizes());
  return transpose(self, -2, -1);
}

View reversed(const Tensor& self) {
  View result = alias(self);
  std::reverse(result.sizes.begin(), result.sizes.end());
  std::reverse(result.strides.begin(), result.strides.end());
  return result;
}

View movedim(const Tensor& self, IntList source, IntList destination) {
  check(source.size() == destination.size(), ErrorKind::runtime, "movedim: arguments source ",
        ShapeText{source}, " and destination ", ShapeText{destination},
        " must have the same number of dims");
  if (source.empty() || self.dim() == 0) return alias(self);
  const int64_t rank = self.dim();
  const Shape from = shape_rules::wrap_dims(source, rank, "movedim");
  const Shape to = shape_rules::wrap_dims(destination, rank, "movedim");
  Shape order(static_cast<size_t>(rank), -1);
  uint64_t moved = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    order[to[i]] = from[i];
    moved |= uint64_t{1} << from[i];
  }
  int64_t next = 0;
  for (int64_t& dim : order) {
    if (dim >= 0) continue;
    while (moved >> next & 1) ++next;
    dim = next++;
  }
  return permute(self, order);
}

View unsqueeze(const Tensor& self, int64_t dim) {
  const int64_t rank = self.dim();
  dim = wrap_dim(dim, rank + 1, "unsqueeze");
  View result = alias(self);
  int64_t stride = 1;  // of one element: any will do where that of the rows is too large
  if (dim < rank && __builtin_mul_overflow(self.sizes()[dim], self.strides()[dim], &stride))
    stride = 1;
  result.sizes.insert(static_cast<size_t>(dim), 1);
  result.strides.insert(static_cast<size_t>(dim), stride);
  return result;
}

namespace {
View squeeze_mask(const Tensor& self, uint64_t mask) {
  View result;
  result.offset = self.offset();
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (self.sizes()[d] == 1 && mask >> d & 1) continue;
    result.sizes.push_back(self.sizes()[d]);
    result.strides.push_back(self.strides()[d]);
  }
  return result;
}
}  // namespace

View squeeze(const Tensor& self) { return squeeze_mask(self, ~uint64_t{0}); }

View squeeze_dim(const Tensor& self, int64_t dim) {
  return squeeze_mask(self, uint64_t{1} << wrap_dim(dim, self.dim(), "squeeze"));
}

View squeeze_dims(const Tensor& self, IntList dims) {
  uint64_t mask = 0;
  if (!dims.empty())
    for (const int64_t dim : shape_rules::wrap_dims(dims, self.dim(), "squeeze"))
      mask |= uint64_t{1} << dim;
  return squeeze_mask(self, mask);
}

View expand(const Tensor& self, IntList size) {
  const size_t rank = size.size(), own = self.sizes().size();
  check(rank >= own, ErrorKind::runtime, "expand: argument size ", ShapeText{size}, " has ", rank,
        " dimensions; expected at least the ", own, " of the tensor (shape ", self.sizes(), ")");
  View result{Shape(size), Shape(rank, 0), self.offset()};
  for (size_t d = 0; d < rank; ++d) {
    const bool is_new = d < rank - own;
    const int64_t current = is_new ? 1 : self.sizes()[d - (rank - own)];
    if (size[d] == -1) {
      check(!is_new, ErrorKind::runtime, "expand: -1 in argument size ", ShapeText{size},
            " stands at a new leading dimension; it can only keep one of shape ", self.sizes());
      result.sizes[d] = current;
    }
    check(result.sizes[d] >= 0, ErrorKind::runtime,
          "expand: argument size must not be negative, got ", ShapeText{size});
    check(current == result.sizes[d] || current == 1, ErrorKind::runtime,
          "expand: a tensor of shape ", self.sizes(), " cannot become ", ShapeText{size},
          ": dimension ", d, " has size ", current, ", not 1");
    if (!is_new && current == result.sizes[d]) result.strides[d] = self.strides()[d - (rank - own)];
  }
  return result;
}

View expand_reduced(const Tensor& self, IntList size, std::optional<IntList> dim, bool keepdim) {
  const int64_t rank = static_cast<int64_t>(size.size());
  std::array<bool, kMaxDims> is_reduced{};
  for (const int64_t d : shape_rules::wrap_dims(dim, rank, "expand_reduced")) is_reduced[d] = true;
  const Shape left = shape_rules::reduced(size, dim, keepdim, "expand_reduced");
  check(self.sizes() == left, ErrorKind::runtime, "expand_reduced(): a tensor of shape ",
        self.sizes(), " is not what reducing ", ShapeText{size}, " gives");
  View result{Shape(size), Shape(size.size(), 0), self.offset()};
  size_t own = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (!is_reduced[d]) result.strides[d] = self.strides()[own];
    if (!is_reduced[d] || keepdim) ++own;
  }
  return result;
}

View real(const Tensor& self) {
  View result = alias(self);
  if (!is_complex(self.dtype())) return result;
  for (int64_t& stride : result.strides) stride *= 2;
  result.offset *= 2;
  return result;
}

View imag(const Tensor& self) {
  check(is_complex(self.dtype()), ErrorKind::runtime, "imag: expected a complex tensor, got ",
        self.dtype());
  View result = real(self);
  result.offset += 1;
  return result;
}

View view_as_real(const Tensor& self) {
  check(is_complex(self.dtype()), ErrorKind::runtime,
        "view_as_real: expected a complex tensor, got ", self.dtype());
  View result = real(self);
  result.sizes.push_back(2);
  result.strides.push_back(1);
  return result;
}

View view_as_complex(const Tensor& self) {
  check(self.dtype() == DType::float32 || self.dtype() == DType::float64, ErrorKind::runtime,
        "view_as_complex: expected float32 or float64, got ", self.dtype());
  check(self.dim() > 0 && self.size(-1) == 2 && self.stride(-1) == 1, ErrorKind::runtime,
        "view_as_complex: the last dimension must have size 2 and stride 1, got shape ",
        self.sizes(), " and strides ", self.strides());
  View result = alias(self);
  result.sizes.erase(result.sizes.size() - 1);
  result.strides.erase(result.strides.size() - 1);
  bool even = self.offset() % 2 == 0;
  for (size_t d = 0; d < result.sizes.size(); ++d) {
    even &= result.strides[d] % 2 == 0 || result.sizes[d] == 1;
    result.strides[d] /= 2;
  }
  check(even, ErrorKind::runtime,
        "view_as_complex: all strides but the last and the storage offset must be even, got ",
        self.strides(), " and ", self.offset());
  result.offset /= 2;
  return result;
}

View view_dtype(const Tensor& self, DType dtype) {
  View result = alias(self);
  const auto from = static_cast<int64_t>(self.itemsize());
  const auto to = static_cast<int64_t>(size_of(dtype));
  check(self.numel() == 0 || is_aligned(self.raw_data(), dtype), ErrorKind::runtime,
        "view: to view ", self.dtype(), " as ", dtype,
        ", the first element must lie at an address that is a multiple "
        "of ",
        to, " bytes");
  if (from == to) return result;
  check(self.dim() > 0, ErrorKind::runtime, "view: a 0-d tensor of ", self.dtype(),
        " cannot be viewed as ", dtype, ", which has another size");
  check(self.stride(-1) == 1 || self.size(-1) == 1, ErrorKind::runtime, "view: to view ",
        self.dtype(), " as ", dtype, ", the last dimension must have stride 1, got strides ",
        self.strides());
  const size_t last = result.sizes.size() - 1;
  if (from > to) {
    const int64_t ratio = from / to;
    for (int64_t& stride : result.strides) stride *= ratio;
    result.sizes[last] *= ratio;
    result.offset *= ratio;
  } else {
    const int64_t ratio = to / from;
    bool fits = self.size(-1) % ratio == 0 && self.offset() % ratio == 0;
    for (size_t d = 0; d < last; ++d) {
      fits &= result.strides[d] % ratio == 0 || result.sizes[d] == 1;
      result.strides[d] /= ratio;
    }
    check(fits, ErrorKind::runtime, "view: to view ", self.dtype(), " as ", dtype,
          ", the last size, the other strides and the storage offset must be divisible by ", ratio,
          "; got shape ", self.sizes(), ", strides ", self.strides(), ", offset ", self.offset());
    result.sizes[last] /= ratio;
    result.offset /= ratio;
  }
  result.strides[last] = 1;
  return result;
}

}  // namespace views
}  // namespace flambeau
