#pragma once

#include <memory>

#include "core/tensor/tensor.h"

namespace flambeau::autograd {

/// Where a view lies in its base's memory. The view may have another dtype (a complex base seen as
/// real numbers).
struct Slice {
  Shape base_sizes, base_strides, sizes, strides;
  DType base_dtype, dtype;
  int64_t offset;  ///< in elements of `dtype`, from the base's first element
};
using SliceRef = std::shared_ptr<const Slice>;
FLAMBEAU_API SliceRef slice_of(const Tensor& view, const Tensor& base);

/// Three linear maps that are closed under differentiation. They record history and carry tangents.
/// The slice of a tensor of the base's shape (a dense copy).
FLAMBEAU_API Tensor gather(const Tensor& tensor, const SliceRef& slice);
/// Zeros of the base's shape with `values` in the slice, summed where the view overlaps itself.
FLAMBEAU_API Tensor scatter(const Tensor& values, const SliceRef& slice);
/// A tensor of the base's shape with `values` (undefined: zeros) in place of the slice.
FLAMBEAU_API Tensor replace(Tensor tensor, const Tensor& values, const SliceRef& slice);

/// A differentiable view of the whole tensor.
FLAMBEAU_API Tensor alias(const Tensor& tensor);

}  // namespace flambeau::autograd
