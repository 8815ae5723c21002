#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/geometry/arguments.h"
#include "core/geometry/broadcast.h"
#include "core/geometry/shape_rules.h"
#include "core/tensor/overlap.h"
#include "core/tensor/tensor.h"
#include "core/types/largest_below.h"

/// What generated formulas call besides operators and core/geometry/shape_rules.h: rules about
/// dtypes, rarer rules about shapes, and conversions. Declared in declarations/functions.
namespace flambeau {

/// The tensor, or the number as a 0-d tensor that is weak in promotion.
inline Tensor as_tensor(const Scalar& value) { return wrap_number(value); }
template <class Number>
requires std::is_arithmetic_v<Number> Tensor as_tensor(Number value) {
  return wrap_number(Scalar(value));
}
inline Tensor as_tensor(const Operand& operand) {
  return operand.is_tensor() ? operand.tensor() : wrap_number(operand.scalar());
}

/// The same of a number that takes the place of floating elements: an integer becomes floating.
inline Tensor as_floating_tensor(const Scalar& value) {
  return wrap_number(value.is_integral() ? Scalar(value.to<double>()) : value);
}
template <class Number>
requires std::is_arithmetic_v<Number> Tensor as_floating_tensor(Number value) {
  return wrap_number(Scalar(static_cast<double>(value)));
}
inline Tensor as_floating_tensor(const Operand& operand) {
  return operand.is_tensor() ? operand.tensor() : as_floating_tensor(operand.scalar());
}

/// A list that is written out, made from the left to the right. A braced vector would copy each
/// item, and g++ 12 ends the lives of its items too early where one of them throws in a branch of a
/// conditional.
struct TensorItems {
  std::vector<Tensor> list;
  template <class... Items>
  explicit TensorItems(Items&&... items) {
    list.reserve(sizeof...(items));
    (list.emplace_back(std::forward<Items>(items)), ...);
  }
};

inline std::vector<Tensor> to_vector(TensorList tensors) {
  return {tensors.begin(), tensors.end()};
}

inline std::vector<DType> dtypes_of(TensorList tensors) {
  std::vector<DType> dtypes;
  dtypes.reserve(tensors.size());
  for (const Tensor& tensor : tensors) dtypes.push_back(tensor.dtype());
  return dtypes;
}

namespace shape_rules {

inline bool broadcastable(IntList a, IntList b) { return flambeau::broadcastable(a, b); }

/// Whether broadcasting makes one shape the other.
inline bool expandable(IntList shape, IntList size) {
  return flambeau::broadcastable(shape, size) &&
         equal(broadcast_shapes(shape, size, "expandable"), size);
}

/// What sums and products of bool and integers are collected in.
inline DType sum_dtype(DType dtype) {
  return is_integral(dtype) || dtype == DTypeOf<bool>::value ? DTypeOf<int64_t>::value : dtype;
}

namespace detail {
template <bool kLargest>
inline Scalar bound(DType dtype) {
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
}  // namespace detail

/// The largest and the lowest finite number of a dtype.
inline Scalar largest(DType dtype) { return detail::bound<true>(dtype); }
inline Scalar lowest(DType dtype) { return detail::bound<false>(dtype); }

/// The distance from 1 to the next larger number of a floating dtype.
inline Scalar epsilon(DType dtype) {
  const DType real = ::flambeau::real_dtype(dtype);
  if (real == DTypeOf<double>::value) return Scalar(std::numeric_limits<double>::epsilon());
  if (real == DTypeOf<float16>::value) return Scalar(std::ldexp(1.0, -10));
  if (real == DTypeOf<bfloat16>::value) return Scalar(std::ldexp(1.0, -7));
  return Scalar(static_cast<double>(std::numeric_limits<float>::epsilon()));
}

/// The largest number of a floating dtype that is less than `bound`.
inline Scalar below(const Scalar& bound, DType dtype) {
  const double limit = bound.to<double>();
  if (dtype == DTypeOf<double>::value) return largest_below<double>(limit);
  if (dtype == DTypeOf<float16>::value) return static_cast<float>(largest_below<float16>(limit));
  if (dtype == DTypeOf<bfloat16>::value) return static_cast<float>(largest_below<bfloat16>(limit));
  return largest_below<float>(limit);
}

/// How many numbers arange gives: ceil((end - start) / step), exact for integers, as which the
/// numbers are taken where `dtype` is one.
inline int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
                            const char* op = "arange") {
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

/// How many elements of storage a tensor of this geometry reaches over.
inline int64_t strided_extent(IntList sizes, IntList strides, const char* op = "as_strided") {
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

/// Row-major without gaps.
inline bool is_dense(IntList sizes, IntList strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

/// The strides of a copy: the same where the elements fill one block in some order of the dims,
/// row-major ones otherwise.
inline Shape copied_strides(IntList sizes, IntList strides) {
  const bool in_order = is_dense(sizes, strides) || is_non_overlapping_dense(sizes, strides);
  return in_order ? Shape(strides) : contiguous_strides(sizes);
}

/// The integer in a tensor of one element, which the host waits for.
inline int64_t item(const Tensor& x) { return flambeau::item(x).to<int64_t>(); }

/// How many dims tensors that are joined have; one of shape [0] may be joined to any.
inline int64_t joined_rank(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() != 1 || tensor.numel() != 0) return tensor.dim();
  }
  return 1;
}

/// The shape of tensors joined along `dim`; empty 1-d tensors do not count.
inline Shape concatenated_shape(const std::vector<Shape>& shapes, int64_t dim,
                                const char* op = "cat") {
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

/// The permutation that undoes `dims`.
inline Shape inverted(IntList dims, const char* op = "permute") {
  const int64_t rank = static_cast<int64_t>(dims.size());
  Shape result(dims.size(), 0);
  for (int64_t i = 0; i < rank; ++i) {
    result[static_cast<size_t>(wrap_dim(dims[static_cast<size_t>(i)], rank, op))] = i;
  }
  return result;
}

/// The dims of so many that are not listed, in order.
inline Shape other_dims(IntList dims, int64_t rank, const char* op = "other_dims") {
  Shape listed;
  for (const int64_t dim : dims) listed.push_back(wrap_dim(dim, rank, op));
  Shape result;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (std::find(listed.begin(), listed.end(), dim) == listed.end()) result.push_back(dim);
  }
  return result;
}

/// The dims of `shape` that broadcasting `size` to it made or stretched.
inline Shape expanded_dims(IntList shape, IntList size) {
  Shape dims;
  const size_t lead = shape.size() - std::min(size.size(), shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i < lead || (size[i - lead] == 1 && shape[i] != 1)) dims.push_back(static_cast<int64_t>(i));
  }
  return dims;
}

/// Whether a tensor of this geometry can be seen as `size` (one -1 allowed) without a copy: every
/// run of dims that merges into or splits from one dim must be evenly spaced.
inline bool viewable(IntList shape, IntList strides, IntList size) {
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

/// a[0], b[0], a[1], b[1], ...
inline Shape interleaved(IntList a, IntList b) {
  Shape result;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    result.push_back(a[i]);
    result.push_back(b[i]);
  }
  return result;
}

/// 0, 1, ... count - 1.
inline Shape range(int64_t count) {
  Shape result;
  for (int64_t i = 0; i < count; ++i) result.push_back(i);
  return result;
}

/// The shape of tensors of one shape joined along a new dim.
inline Shape stacked_shape(const std::vector<Shape>& shapes, int64_t dim,
                           const char* op = "stack") {
  check(!shapes.empty(), ErrorKind::runtime, op, "(): expected at least one tensor");
  for (const Shape& shape : shapes) {
    check(shape == shapes[0], ErrorKind::runtime, op, "(): expected tensors of one shape, got ",
          shapes[0], " and ", shape);
  }
  return inserted(shapes[0], dim, static_cast<int64_t>(shapes.size()), op);
}

/// The sizes along `dim` of tensors that are joined.
inline Shape joined_sizes(const std::vector<Shape>& shapes, int64_t dim, const char* op = "cat") {
  Shape sizes;
  for (const Shape& shape : shapes) {
    const bool skipped = shape.size() == 1 && shape[0] == 0;
    sizes.push_back(skipped ? 0 : at(shape, dim, op));
  }
  return sizes;
}

/// The common shape of several shapes.
inline Shape broadcast_all(const std::vector<Shape>& shapes, const char* op = "broadcast_all") {
  Shape result;
  for (const Shape& shape : shapes) result = broadcast(result, shape, op);
  return result;
}

/// How many dims each shape has.
inline Shape ranks(const std::vector<Shape>& shapes) {
  Shape result;
  for (const Shape& shape : shapes) result.push_back(static_cast<int64_t>(shape.size()));
  return result;
}

/// The place of the first item that is `value`; -1 where there is none.
inline int64_t position(IntList items, int64_t value) {
  const auto found = std::find(items.begin(), items.end(), value);
  return found == items.end() ? -1 : found - items.begin();
}
/// The largest of some integers; of none, 0.
inline int64_t highest(IntList items) {
  return items.size() == 0 ? 0 : *std::max_element(items.begin(), items.end());
}

/// Whether dtypes are all the same.
inline bool is_one_dtype(const std::vector<DType>& dtypes) {
  return std::all_of(dtypes.begin(), dtypes.end(), [&](DType d) { return d == dtypes[0]; });
}

/// `items`, where they are given, and the sizes of `otherwise` for those that are None.
inline Shape given_or(IntList items, IntList otherwise, const char* op = "given_or") {
  Shape result(items);
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == kNoInt) result[i] = at(otherwise, static_cast<int64_t>(i), op);
  }
  return result;
}

/// The sum of integers.
inline int64_t sum_of(IntList items, const char* op = "sum_of") {
  int64_t sum = 0;
  for (const int64_t item : items) sum = checked_add(sum, item, op);
  return sum;
}

/// How many choices of `r` out of `n` there are, in how many orders none counts.
inline int64_t choices(int64_t n, int64_t r, const char* op = "choices") {
  if (r < 0 || r > n) return 0;
  const int64_t fewer = std::min(r, n - r);
  int64_t count = 1;
  // count is C(n - fewer + i, i), so that every division is exact.
  for (int64_t i = 1; i <= fewer; ++i) count = checked_mul(count, n - fewer + i, op) / i;
  return count;
}

/// Sizes multiplied by repeats; more repeats than sizes add dims in front.
inline Shape repeated_shape(IntList shape, IntList repeats, const char* op = "repeat") {
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

/// The dtype that a number's kind stands for.
inline DType number_dtype(const Scalar& value) { return value.dtype(); }

/// Whether an element of a dtype can be the number; a tensor is converted, whatever it holds.
inline bool fits(const Operand& operand, DType dtype) {
  return operand.is_tensor() || operand.scalar().fits(dtype);
}

/// Whether an element of a dtype can be the number, or what a 0-d tensor holds.
inline bool can_hold(const Operand& operand, DType dtype) {
  if (!operand.is_tensor()) return operand.scalar().fits(dtype);
  const Tensor& tensor = operand.tensor();
  const bool is_number = tensor.dim() == 0 && !tensor.device().is_meta();
  if (!is_number || !is_integral(dtype) || tensor.dtype() == dtype) return true;
  return flambeau::item(tensor).fits(dtype);
}

/// Whether the operand is a number below 0.
inline bool is_negative_number(const Operand& operand) {
  return !operand.is_tensor() && !operand.scalar().is_complex() &&
         operand.scalar().to<double>() < 0;
}

/// int64 where all three are integers, else the default float.
inline DType range_dtype(const Scalar& start, const Scalar& end, const Scalar& step) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  return integral ? DType::int64 : default_dtype();
}

inline DType spacing_dtype(const Scalar& start, const Scalar& end) {
  return promote(promote(start.dtype(), end.dtype()), default_dtype());
}

/// `reduction`, or what its former spelling by two flags stands for.
inline std::string_view reduction_of(std::string_view reduction, std::optional<bool> size_average,
                                     std::optional<bool> reduce) {
  if (!size_average && !reduce) return reduction;
  if (reduce && !*reduce) return "none";
  return size_average && !*size_average ? "sum" : "mean";
}

/// The reduction that a number stands for: 0, 1 or 2, which the operator checked.
inline std::string_view numbered_reduction(int64_t reduction) {
  return reduction == 0 ? "none" : reduction == 1 ? "mean" : "sum";
}

/// Whether all integers are above 0.
inline bool all_positive(IntList items) {
  return std::all_of(items.begin(), items.end(), [](int64_t item) { return item > 0; });
}

/// What elements are computed in: halves and integers in float32.
inline DType computed_dtype(DType dtype) {
  const bool wide = dtype == DType::float64 || is_complex(dtype);
  return wide ? dtype : DType::float32;
}

/// The scale at a position, where there is one; a list of one holds for all.
inline std::optional<double> scale_of(const std::optional<std::span<const double>>& scales,
                                      int64_t position) {
  if (!scales || scales->empty()) return std::nullopt;
  return (*scales)[std::min(static_cast<size_t>(position), scales->size() - 1)];
}

/// `size`, or else sizes times `scales`, rounded down; a list of one holds for all.
inline Shape resized_shape(IntList spatial, const std::optional<IntList>& size,
                           const std::optional<std::span<const double>>& scales,
                           const char* op = "resized_shape") {
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

/// The distance between the sources of neighbours in a dim that is resized.
inline double resize_step(int64_t length, int64_t size, bool align_corners,
                          std::optional<double> scale) {
  if (align_corners)
    return size > 1 ? static_cast<double>(length - 1) / static_cast<double>(size - 1) : 0;
  if (scale && *scale > 0) return 1 / *scale;
  return static_cast<double>(length) / static_cast<double>(size);
}

/// Whether a size, or the last items of a shape, is within a stride of what was pooled to `pooled`.
inline bool near_size(IntList pooled, IntList kernel, const std::optional<IntList>& stride,
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

/// Whether so many windows, each at least a step further, lie inside.
inline bool windows_fit(IntList spatial, IntList kernel, IntList parts) {
  for (size_t i = 0; i < spatial.size(); ++i) {
    if (kernel[i] < 1 || parts[i] < 1 || kernel[i] > spatial[i]) return false;
    if (parts[i] > spatial[i] - kernel[i] + 1) return false;
  }
  return true;
}

/// How many elements can lie within a distance on either side.
inline int64_t taps_within(double reach) {
  return 2 * static_cast<int64_t>(std::ceil(std::min(reach, 0x1p60))) + 1;
}

}  // namespace shape_rules
}  // namespace flambeau
