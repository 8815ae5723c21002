#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace flambeau::autograd {

/// What graphs are made of, together.
struct Extent {
  std::vector<Tensor> leaves;  ///< that they lead to, and that still exist
  int64_t elements = 0;        ///< of results and of what is saved: about the work of a backward
};

/// Of the graphs of some tensors, each node once.
FLAMBEAU_API Extent extent_of_graphs(TensorList roots);

}  // namespace flambeau::autograd
