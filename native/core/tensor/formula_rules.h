#pragma once

#include <algorithm>
#include <cmath>
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

FLAMBEAU_API std::vector<Tensor> to_vector(TensorList tensors);

FLAMBEAU_API std::vector<DType> dtypes_of(TensorList tensors);

namespace shape_rules {

inline bool broadcastable(IntList a, IntList b) { return flambeau::broadcastable(a, b); }

/// Whether broadcasting makes one shape the other.
FLAMBEAU_API bool expandable(IntList shape, IntList size);

/// What sums and products of bool and integers are collected in.
inline DType sum_dtype(DType dtype) {
  return is_integral(dtype) || dtype == DTypeOf<bool>::value ? DTypeOf<int64_t>::value : dtype;
}

/// The largest and the lowest finite number of a dtype.
FLAMBEAU_API Scalar largest(DType dtype);
FLAMBEAU_API Scalar lowest(DType dtype);

/// The distance from 1 to the next larger number of a floating dtype.
FLAMBEAU_API Scalar epsilon(DType dtype);

/// The largest number of a floating dtype that is less than `bound`.
FLAMBEAU_API Scalar below(const Scalar& bound, DType dtype);

/// How many numbers arange gives: ceil((end - start) / step), exact for integers, as which the
/// numbers are taken where `dtype` is one.
FLAMBEAU_API int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step,
                                  DType dtype, const char* op = "arange");

/// How many elements of storage a tensor of this geometry reaches over.
FLAMBEAU_API int64_t strided_extent(IntList sizes, IntList strides, const char* op = "as_strided");

/// Row-major without gaps.
FLAMBEAU_API bool is_dense(IntList sizes, IntList strides);

/// The strides of a copy: the same where the elements fill one block in some order of the dims,
/// row-major ones otherwise.
FLAMBEAU_API Shape copied_strides(IntList sizes, IntList strides);

/// The integer in a tensor of one element, which the host waits for.
inline int64_t item(const Tensor& x) { return flambeau::item(x).to<int64_t>(); }

/// How many dims tensors that are joined have; one of shape [0] may be joined to any.
FLAMBEAU_API int64_t joined_rank(TensorList tensors);

/// The shape of tensors joined along `dim`; empty 1-d tensors do not count.
FLAMBEAU_API Shape concatenated_shape(const std::vector<Shape>& shapes, int64_t dim,
                                      const char* op = "cat");

/// The permutation that undoes `dims`.
FLAMBEAU_API Shape inverted(IntList dims, const char* op = "permute");

/// The dims of so many that are not listed, in order.
FLAMBEAU_API Shape other_dims(IntList dims, int64_t rank, const char* op = "other_dims");

/// The dims of `shape` that broadcasting `size` to it made or stretched.
FLAMBEAU_API Shape expanded_dims(IntList shape, IntList size);

/// Whether a tensor of this geometry can be seen as `size` (one -1 allowed) without a copy: every
/// run of dims that merges into or splits from one dim must be evenly spaced.
FLAMBEAU_API bool viewable(IntList shape, IntList strides, IntList size);

/// a[0], b[0], a[1], b[1], ...
FLAMBEAU_API Shape interleaved(IntList a, IntList b);

/// 0, 1, ... count - 1.
FLAMBEAU_API Shape range(int64_t count);

/// The shape of tensors of one shape joined along a new dim.
FLAMBEAU_API Shape stacked_shape(const std::vector<Shape>& shapes, int64_t dim,
                                 const char* op = "stack");

/// The sizes along `dim` of tensors that are joined.
FLAMBEAU_API Shape joined_sizes(const std::vector<Shape>& shapes, int64_t dim,
                                const char* op = "cat");

/// The common shape of several shapes.
FLAMBEAU_API Shape broadcast_all(const std::vector<Shape>& shapes,
                                 const char* op = "broadcast_all");

/// How many dims each shape has.
FLAMBEAU_API Shape ranks(const std::vector<Shape>& shapes);

/// The place of the first item that is `value`; -1 where there is none.
FLAMBEAU_API int64_t position(IntList items, int64_t value);
/// The largest of some integers; of none, 0.
inline int64_t highest(IntList items) {
  return items.size() == 0 ? 0 : *std::max_element(items.begin(), items.end());
}

/// Whether dtypes are all the same.
FLAMBEAU_API bool is_one_dtype(const std::vector<DType>& dtypes);

/// `items`, where they are given, and the sizes of `otherwise` for those that are None.
FLAMBEAU_API Shape given_or(IntList items, IntList otherwise, const char* op = "given_or");

/// The sum of integers.
FLAMBEAU_API int64_t sum_of(IntList items, const char* op = "sum_of");

/// How many choices of `r` out of `n` there are, in how many orders none counts.
FLAMBEAU_API int64_t choices(int64_t n, int64_t r, const char* op = "choices");

/// Sizes multiplied by repeats; more repeats than sizes add dims in front.
FLAMBEAU_API Shape repeated_shape(IntList shape, IntList repeats, const char* op = "repeat");

/// The dtype that a number's kind stands for.
inline DType number_dtype(const Scalar& value) { return value.dtype(); }

/// Whether an element of a dtype can be the number; a tensor is converted, whatever it holds.
inline bool fits(const Operand& operand, DType dtype) {
  return operand.is_tensor() || operand.scalar().fits(dtype);
}

/// Whether an element of a dtype can be the number, or what a 0-d tensor holds.
FLAMBEAU_API bool can_hold(const Operand& operand, DType dtype);

/// Whether the operand is a number below 0.
inline bool is_negative_number(const Operand& operand) {
  return !operand.is_tensor() && !operand.scalar().is_complex() &&
         operand.scalar().to<double>() < 0;
}

/// int64 where all three are integers, else the default float.
FLAMBEAU_API DType range_dtype(const Scalar& start, const Scalar& end, const Scalar& step);

FLAMBEAU_API DType spacing_dtype(const Scalar& start, const Scalar& end);

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
FLAMBEAU_API bool all_positive(IntList items);

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
FLAMBEAU_API Shape resized_shape(IntList spatial, const std::optional<IntList>& size,
                                 const std::optional<std::span<const double>>& scales,
                                 const char* op = "resized_shape");

/// The distance between the sources of neighbours in a dim that is resized.
inline double resize_step(int64_t length, int64_t size, bool align_corners,
                          std::optional<double> scale) {
  if (align_corners)
    return size > 1 ? static_cast<double>(length - 1) / static_cast<double>(size - 1) : 0;
  if (scale && *scale > 0) return 1 / *scale;
  return static_cast<double>(length) / static_cast<double>(size);
}

/// Whether a size, or the last items of a shape, is within a stride of what was pooled to `pooled`.
FLAMBEAU_API bool near_size(IntList pooled, IntList kernel, const std::optional<IntList>& stride,
                            IntList padding, const std::optional<IntList>& size);

/// Whether so many windows, each at least a step further, lie inside.
FLAMBEAU_API bool windows_fit(IntList spatial, IntList kernel, IntList parts);

/// How many elements can lie within a distance on either side.
inline int64_t taps_within(double reach) {
  return 2 * static_cast<int64_t>(std::ceil(std::min(reach, 0x1p60))) + 1;
}

}  // namespace shape_rules
}  // namespace flambeau
