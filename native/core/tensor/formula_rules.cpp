#include "core/tensor/formula_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/geometry/broadcast.h"
#include "core/types/largest_below.h"

namespace flambeau {

std::vector<Tensor> to_vector(TensorList tensors) { return {tensors.begin(), tensors.end()}; }

std::vector<DType> dtypes_of(TensorList tensors) {
  std::vector<DType> dtypes;
  dtypes.reserve(tensors.size());
  for (const Tensor& tensor : tensors) dtypes.push_back(tensor.dtype());
  return dtypes;
}

namespace shape_rules {
namespace {

template <bool kLargest>
Scalar bound(DType dtype) {
  switch (category(dtype)) {
    case DTypeCategory::boolean:
      return Scalar(kLargest);
    case DTypeCategory::unsigned_integer:
    case DTypeCategory::limited_integer:
      return Scalar(kLargest ? ~uint64_t{0} >> (64 - 8 * size_of(dtype)) : uint64_t{0});
    case DTypeCategory::signed_integer: {
      const int64_t half = int64_t{1} << (8 * static_cast<int>(size_of(dtype)) - 2);
      return Scalar(kLargest ? (half - 1) + half : -half - half);
    }
    default:
      break;
  }
  double largest = std::numeric_limits<double>::max();
  const DType real = real_dtype(dtype);
  if (real == DTypeOf<float>::value) largest = std::numeric_limits<float>::max();
  if (real == DTypeOf<float16>::value) largest = 65504.0;
  if (real == DTypeOf<bfloat16>::value) largest = std::ldexp(255.0, 120);
  return Scalar(kLargest ? largest : -largest);
}

}  // namespace

bool expandable(IntList shape, IntList size) {
  return flambeau::broadcastable(shape, size) &&
         equal(broadcast_shapes(shape, size, "expandable"), size);
}

Scalar largest(DType dtype) { return bound<true>(dtype); }
Scalar lowest(DType dtype) { return bound<false>(dtype); }

Scalar epsilon(DType dtype) {
  const DType real = ::flambeau::real_dtype(dtype);
  if (real == DTypeOf<double>::value) return Scalar(std::numeric_limits<double>::epsilon());
  if (real == DTypeOf<float16>::value) return Scalar(std::ldexp(1.0, -10));
  if (real == DTypeOf<bfloat16>::value) return Scalar(std::ldexp(1.0, -7));
  return Scalar(static_cast<double>(std::numeric_limits<float>::epsilon()));
}

Scalar below(const Scalar& bound, DType dtype) {
  const double limit = bound.to<double>();
  if (dtype == DTypeOf<double>::value) return largest_below<double>(limit);
  if (dtype == DTypeOf<float16>::value) return static_cast<float>(largest_below<float16>(limit));
  if (dtype == DTypeOf<bfloat16>::value) return static_cast<float>(largest_below<bfloat16>(limit));
  return largest_below<float>(limit);
}

int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
                     const char* op) {
  const auto check_direction = [&](auto from, auto to, auto distance) {
    check(distance != 0, step.to<double>() == 0 ? ErrorKind::runtime : ErrorKind::value, op,
          "(): argument step must not be zero");
    check(distance > 0 ? from <= to : from >= to, ErrorKind::runtime, op,
          "(): argument step = ", step, " leads away from end = ", end,
          ", beginning at start = ", start);
  };
  if (is_integral(dtype)) {
    for (const auto& [name, number] : {std::pair("start", start), {"end", end}, {"step", step}})
      number.check_fits(DTypeOf<int64_t>::value, op, name);
  }
  if (is_integral(dtype) && (dtype == DType::int64 || step.to<int64_t>() == 0)) {
    __extension__ using Wide = __int128;  // of two numbers far apart
    const Wide span = static_cast<Wide>(end.to<int64_t>()) - start.to<int64_t>();
    const int64_t distance = step.to<int64_t>();
    check_direction(start.to<int64_t>(), end.to<int64_t>(), distance);
    const Wide whole = span / distance;
    const Wide count = whole + (span % distance != 0 && (span < 0) == (distance < 0));
    check(count <= std::numeric_limits<int64_t>::max(), ErrorKind::runtime, op,
          "(): the length of a range from ", start, " to ", end, " in steps of ", step,
          " does not fit 64 bits");
    return static_cast<int64_t>(count);
  }
  check_direction(start.to<double>(), end.to<double>(), step.to<double>());
  const double count = std::ceil((end.to<double>() - start.to<double>()) / step.to<double>());
  if (!(std::abs(count) < 9.0e18)) {
    fail(ErrorKind::runtime, op, "(): a range from ", start, " to ", end, " in steps of ", step,
         " has no usable length");
  }
  return std::max<int64_t>(static_cast<int64_t>(count), 0);
}

int64_t strided_extent(IntList sizes, IntList strides, const char* op) {
  if (sizes.size() != strides.size()) {
    fail(ErrorKind::runtime, op, "(): sizes ", ShapeText{sizes}, " and strides ",
         ShapeText{strides}, " differ in length");
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t extent = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    extent = checked_add(extent, checked_mul(sizes[i] - 1, strides[i], op), op);
  }
  return extent;
}

bool is_dense(IntList sizes, IntList strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

Shape copied_strides(IntList sizes, IntList strides) {
  const bool in_order = is_dense(sizes, strides) || is_non_overlapping_dense(sizes, strides);
  return in_order ? Shape(strides) : contiguous_strides(sizes);
}

int64_t joined_rank(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() != 1 || tensor.numel() != 0) return tensor.dim();
  }
  return 1;
}

Shape concatenated_shape(const std::vector<Shape>& shapes, int64_t dim, const char* op) {
  const Shape* first = nullptr;
  for (const Shape& shape : shapes) {
    if (shape.size() != 1 || shape[0] != 0) {
      first = &shape;
      break;
    }
  }
  if (first == nullptr) return Shape{0};
  if (first->empty()) fail(ErrorKind::runtime, op, "(): zero-dimensional tensors cannot be joined");
  Shape result = *first;
  const int64_t rank = static_cast<int64_t>(first->size());
  const size_t axis = static_cast<size_t>(wrap_dim(dim, rank, op));
  result[axis] = 0;
  for (const Shape& shape : shapes) {
    if (shape.size() == 1 && shape[0] == 0) continue;
    bool fits = shape.size() == first->size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = i == axis || shape[i] == result[i];
    if (!fits) {
      fail(ErrorKind::runtime, op, "(): sizes must agree except in dimension ", axis, ", got ",
           *first, " and ", shape);
    }
    result[axis] = checked_add(result[axis], shape[axis], op);
  }
  return result;
}

Shape inverted(IntList dims, const char* op) {
  const int64_t rank = static_cast<int64_t>(dims.size());
  Shape result(dims.size(), 0);
  for (int64_t i = 0; i < rank; ++i) {
    result[static_cast<size_t>(wrap_dim(dims[static_cast<size_t>(i)], rank, op))] = i;
  }
  return result;
}

Shape other_dims(IntList dims, int64_t rank, const char* op) {
  Shape listed;
  for (const int64_t dim : dims) listed.push_back(wrap_dim(dim, rank, op));
  Shape result;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (std::find(listed.begin(), listed.end(), dim) == listed.end()) result.push_back(dim);
  }
  return result;
}

Shape expanded_dims(IntList shape, IntList size) {
  Shape dims;
  const size_t lead = shape.size() - std::min(size.size(), shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i < lead || (size[i - lead] == 1 && shape[i] != 1)) dims.push_back(static_cast<int64_t>(i));
  }
  return dims;
}

bool viewable(IntList shape, IntList strides, IntList size) {
  const int64_t count = numel(shape);
  if (count == 0) return true;
  int64_t known = 1;
  bool fits = true;
  for (const int64_t s : size) fits &= !__builtin_mul_overflow(known, s == -1 ? 1 : s, &known);
  if (!fits || known <= 0 || count % known != 0) return true;  // view() itself reports the mismatch
  // Dims of size 1 have no spacing of their own.
  Shape lengths, spacings;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    lengths.push_back(shape[i]);
    spacings.push_back(strides[i]);
  }
  size_t next = size.size();
  int64_t run = 1;
  for (size_t i = lengths.size(); i-- > 0;) {
    run *= lengths[i];
    if (i > 0 && spacings[i - 1] == lengths[i] * spacings[i]) continue;
    for (int64_t seen = 1; seen != run;) {
      if (next == 0 || seen > run) return false;
      --next;
      seen *= size[next] == -1 ? count / known : size[next];
    }
    run = 1;
  }
  return true;
}

Shape interleaved(IntList a, IntList b) {
  Shape result;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    result.push_back(a[i]);
    result.push_back(b[i]);
  }
  return result;
}

Shape range(int64_t count) {
  Shape result;
  for (int64_t i = 0; i < count; ++i) result.push_back(i);
  return result;
}

Shape stacked_shape(const std::vector<Shape>& shapes, int64_t dim, const char* op) {
  check(!shapes.empty(), ErrorKind::runtime, op, "(): expected at least one tensor");
  for (const Shape& shape : shapes) {
    check(shape == shapes[0], ErrorKind::runtime, op, "(): expected tensors of one shape, got ",
          shapes[0], " and ", shape);
  }
  return inserted(shapes[0], dim, static_cast<int64_t>(shapes.size()), op);
}

Shape joined_sizes(const std::vector<Shape>& shapes, int64_t dim, const char* op) {
  Shape sizes;
  for (const Shape& shape : shapes) {
    const bool skipped = shape.size() == 1 && shape[0] == 0;
    sizes.push_back(skipped ? 0 : at(shape, dim, op));
  }
  return sizes;
}

Shape broadcast_all(const std::vector<Shape>& shapes, const char* op) {
  Shape result;
  for (const Shape& shape : shapes) result = broadcast(result, shape, op);
  return result;
}

Shape ranks(const std::vector<Shape>& shapes) {
  Shape result;
  for (const Shape& shape : shapes) result.push_back(static_cast<int64_t>(shape.size()));
  return result;
}

int64_t position(IntList items, int64_t value) {
  const auto found = std::find(items.begin(), items.end(), value);
  return found == items.end() ? -1 : found - items.begin();
}

bool is_one_dtype(const std::vector<DType>& dtypes) {
  return std::all_of(dtypes.begin(), dtypes.end(), [&](DType d) { return d == dtypes[0]; });
}

Shape given_or(IntList items, IntList otherwise, const char* op) {
  Shape result(items);
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == kNoInt) result[i] = at(otherwise, static_cast<int64_t>(i), op);
  }
  return result;
}

int64_t sum_of(IntList items, const char* op) {
  int64_t sum = 0;
  for (const int64_t item : items) sum = checked_add(sum, item, op);
  return sum;
}

int64_t choices(int64_t n, int64_t r, const char* op) {
  if (r < 0 || r > n) return 0;
  const int64_t fewer = std::min(r, n - r);
  int64_t count = 1;
  // count is C(n - fewer + i, i), so that every division is exact.
  for (int64_t i = 1; i <= fewer; ++i) count = checked_mul(count, n - fewer + i, op) / i;
  return count;
}

Shape repeated_shape(IntList shape, IntList repeats, const char* op) {
  check(repeats.size() >= shape.size(), ErrorKind::runtime, op,
        "(): expected a repeat for each dim of shape ", ShapeText{shape}, ", got ",
        ShapeText{repeats});
  Shape result(repeats);
  const size_t lead = repeats.size() - shape.size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    check(repeats[i] >= 0, ErrorKind::runtime, op, "(): repeats must not be negative, got ",
          ShapeText{repeats});
    if (i >= lead) result[i] = checked_mul(result[i], shape[i - lead], op);
  }
  return result;
}

bool can_hold(const Operand& operand, DType dtype) {
  if (!operand.is_tensor()) return operand.scalar().fits(dtype);
  const Tensor& tensor = operand.tensor();
  const bool is_number = tensor.dim() == 0 && !tensor.device().is_meta();
  if (!is_number || !is_integral(dtype) || tensor.dtype() == dtype) return true;
  return flambeau::item(tensor).fits(dtype);
}

DType range_dtype(const Scalar& start, const Scalar& end, const Scalar& step) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  return integral ? DType::int64 : default_dtype();
}

DType spacing_dtype(const Scalar& start, const Scalar& end) {
  return promote(promote(start.dtype(), end.dtype()), default_dtype());
}

bool all_positive(IntList items) {
  return std::all_of(items.begin(), items.end(), [](int64_t item) { return item > 0; });
}

Shape resized_shape(IntList spatial, const std::optional<IntList>& size,
                    const std::optional<std::span<const double>>& scales, const char* op) {
  Shape result(spatial);
  for (size_t i = 0; i < spatial.size(); ++i) {
    if (size) {
      result[i] = at(*size, size->size() == 1 ? 0 : static_cast<int64_t>(i), op);
      continue;
    }
    const double scale = scale_of(scales, static_cast<int64_t>(i)).value_or(1);
    const double scaled = std::floor(static_cast<double>(spatial[i]) * scale);
    check(scaled >= -0x1p62 && scaled <= 0x1p62, ErrorKind::runtime, op, "(): ", spatial[i],
          " elements times ", scale, " are no size");
    result[i] = static_cast<int64_t>(scaled);
  }
  return result;
}

bool near_size(IntList pooled, IntList kernel, const std::optional<IntList>& stride,
               IntList padding, const std::optional<IntList>& size) {
  if (!size) return true;
  const size_t rank = pooled.size();
  if (size->size() != rank && size->size() != rank + 2) return false;
  for (size_t i = 0; i < rank; ++i) {
    const double step = static_cast<double>(stride ? (*stride)[i] : kernel[i]);
    const double usual = static_cast<double>(pooled[i] - 1) * step +
                         static_cast<double>(kernel[i]) - 2 * static_cast<double>(padding[i]);
    const double wanted = static_cast<double>((*size)[size->size() - rank + i]);
    if (std::abs(wanted - usual) >= step) return false;
  }
  return true;
}

bool windows_fit(IntList spatial, IntList kernel, IntList parts) {
  for (size_t i = 0; i < spatial.size(); ++i) {
    if (kernel[i] < 1 || parts[i] < 1 || kernel[i] > spatial[i]) return false;
    if (parts[i] > spatial[i] - kernel[i] + 1) return false;
  }
  return true;
}

}  // namespace shape_rules
}  // namespace flambeau
