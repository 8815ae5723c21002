#pragma once

#include <vector>

#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"

/// Forward mode in generated operator functions.
namespace flambeau::autograd {

/// The tangent, or zeros of the tensor's shape.
FLAMBEAU_API Tensor tangent_or_zeros(const Tensor& tensor);
FLAMBEAU_API Tensor tangent_or_zeros(const Operand& operand);
FLAMBEAU_API std::vector<Tensor> tangents(TensorList tensors);
/// total += part, where an undefined (or empty) total is zero.
FLAMBEAU_API void add_tangent(Tensor& total, Tensor&& part);
FLAMBEAU_API void add_tangent(std::vector<Tensor>& total, std::vector<Tensor>&& part);
/// The same of what an argument's tangent gives, where it has one.
using Tensors = std::vector<Tensor>;
template <class Result, class Tangent>
using Term = FunctionRef<Result(const Tangent&)>;
FLAMBEAU_API void add_term(Tensor& total, const Tensor& argument, Term<Tensor, Tensor> term);
FLAMBEAU_API void add_term(Tensor& total, const Operand& argument, Term<Tensor, Tensor> term);
FLAMBEAU_API void add_term(Tensor& total, TensorList argument, Term<Tensor, Tensors> term);
FLAMBEAU_API void add_term(Tensors& total, const Tensor& argument, Term<Tensors, Tensor> term);
FLAMBEAU_API void add_term(Tensors& total, const Operand& argument, Term<Tensors, Tensor> term);
FLAMBEAU_API void add_term(Tensors& total, TensorList argument, Term<Tensors, Tensors> term);
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
