#pragma once

#include <vector>

#include "core/tensor.h"

/// Forward mode in generated operator functions.
namespace flambeau::autograd {

/// The tangent, or zeros of the tensor's shape.
FLAMBEAU_API Tensor tangent_or_zeros(const Tensor& tensor);
FLAMBEAU_API Tensor tangent_or_zeros(const Operand& operand);
FLAMBEAU_API std::vector<Tensor> tangents(TensorList tensors);
/// total += part, where an undefined (or empty) total is zero.
FLAMBEAU_API void add_tangent(Tensor& total, Tensor&& part);
FLAMBEAU_API void add_tangent(std::vector<Tensor>& total, std::vector<Tensor>&& part);
/// The tangent, or a copy where its memory has other users: a write in place goes into a tangent,
/// and must not reach another one.
FLAMBEAU_API Tensor owned(Tensor tangent);
/// Sets the tangent of `result`: its own, of the result's shape, strides and dtype.
FLAMBEAU_API void set_fitting_tangent(const Tensor& result, Tensor tangent);
FLAMBEAU_API void set_fitting_tangent(TensorList results, std::vector<Tensor> tangents);
/// The same for a view, whose tangent shares the memory of its base's.
FLAMBEAU_API void set_view_tangent(const Tensor& view, const Tensor& tangent);
FLAMBEAU_API void set_view_tangent(TensorList views, const std::vector<Tensor>& tangents);

}  // namespace flambeau::autograd
