#pragma once

#include <vector>

#include "autograd/node.h"

/// Forward mode in generated operator functions.
namespace flambeau::autograd {

/// The tangent, or zeros of the tensor's shape.
FLAMBEAU_API Tensor tangent_or_zeros(const Tensor& tensor);
FLAMBEAU_API Tensor tangent_or_zeros(const Operand& operand);
FLAMBEAU_API std::vector<Tensor> tangents(TensorList tensors);
/// total += part, where an undefined (or empty) total is zero.
FLAMBEAU_API void add_tangent(Tensor& total, Tensor&& part);
FLAMBEAU_API void add_tangent(std::vector<Tensor>& total, std::vector<Tensor>&& part);
/// Sets the tangent of `result`, expanded and converted to its shape and dtype.
FLAMBEAU_API void set_fitting_tangent(const Tensor& result, const Tensor& tangent);
FLAMBEAU_API void set_tangents(TensorList results, const std::vector<Tensor>& tangents);

}  // namespace flambeau::autograd
