#pragma once

#include "core/tensor/tensor.h"

namespace flambeau::autograd {

/// The gradient of a scalar root that stands in for a tensor (graph/stand_in.h): ones, made by an
/// operator, which is taken over. Set by the operators.
extern FLAMBEAU_API Tensor (*ones_of_stand_in)(const Tensor& root);

}  // namespace flambeau::autograd
