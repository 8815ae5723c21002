#pragma once

#include <tuple>
#include <vector>

#include "core/iteration/iterator.h"
#include "core/tensor/tensor.h"

/// What generated compositions share: kernels of any backend that are made of operators.
namespace flambeau::autograd {

/// The same data without history, tangent or gradient; undefined tensors stay undefined. In-place
/// writes reach the original.
FLAMBEAU_API Tensor without_history(const Tensor& tensor);
FLAMBEAU_API std::vector<Tensor> without_history(TensorList tensors);

/// A copy on a device, without history; undefined tensors stay undefined.
FLAMBEAU_API Tensor moved(const Tensor& tensor, Device device);
FLAMBEAU_API std::vector<Tensor> moved(TensorList tensors, Device device);
template <class... Tensors>
std::tuple<Tensors...> moved(const std::tuple<Tensors...>& tensors, Device device) {
  return std::apply([&](const auto&... each) { return std::tuple(moved(each, device)...); },
                    tensors);
}

/// An operand of a pointwise kernel, without history.
FLAMBEAU_API Tensor read_operand(const Iterator& iter, int i);
/// The same in what formulas are computed in: half precision as float32, bool as uint8.
FLAMBEAU_API Tensor read_number(const Iterator& iter, int i);
/// Gives output i the elements of a value that broadcasts to its shape, and converts their dtype.
FLAMBEAU_API void write_output(const Iterator& iter, int i, Tensor&& value);
/// An empty tensor for one draw per element, in the order in which a kernel would make them.
FLAMBEAU_API Tensor room_for_draws(const Iterator& iter);
/// Error(not_implemented) for complex numbers, where the formula of kernel `op` is of real ones.
FLAMBEAU_API void check_composed_dtype(const Iterator& iter, const char* op);

/// Gives an allocated result of operator `op` the elements of `value`: its memory where nobody else
/// holds it, a copy otherwise. Error(runtime) when the shapes differ.
FLAMBEAU_API void hand_over(const Tensor& result, Tensor&& value, const char* op);

}  // namespace flambeau::autograd
