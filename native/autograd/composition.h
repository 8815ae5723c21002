#pragma once

#include <tuple>
#include <vector>

#include "core/tensor.h"

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

/// Gives an allocated result of operator `op` the elements of `value`: its memory where nobody else
/// holds it, a copy otherwise. Error(runtime) when the shapes differ.
FLAMBEAU_API void hand_over(const Tensor& result, Tensor&& value, const char* op);

}  // namespace flambeau::autograd
