#pragma once

#include <vector>

#include "autograd/graph/saved.h"

/// Tensor lists in nodes.
namespace flambeau::autograd {

inline std::vector<SavedTensor> save_list(TensorList tensors, const char* name) {
  std::vector<SavedTensor> saved;
  saved.reserve(tensors.size());
  for (const Tensor& tensor : tensors) saved.emplace_back(tensor, name);
  return saved;
}

inline std::vector<Tensor> unpack_list(const std::vector<SavedTensor>& saved, const Node& node) {
  std::vector<Tensor> tensors;
  tensors.reserve(saved.size());
  for (const SavedTensor& tensor : saved) {
    tensors.push_back(tensor.defined() ? tensor.unpack(node) : Tensor());
  }
  return tensors;
}

inline std::vector<Shape> shapes_of(TensorList tensors) {
  std::vector<Shape> shapes;
  shapes.reserve(tensors.size());
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.sizes());
  return shapes;
}

inline DType dtype_of_operand(const Operand& operand) {
  return operand.is_tensor() ? operand.tensor().dtype() : operand.scalar().dtype();
}

}  // namespace flambeau::autograd
