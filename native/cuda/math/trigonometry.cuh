#pragma once

/// Arcs, and hyperbolic functions.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(asin)
FLAMBEAU_C_1(acos)
FLAMBEAU_C_1(sinh)
FLAMBEAU_C_1(cosh)
FLAMBEAU_C_1(tanh)
FLAMBEAU_C_1(asinh)
FLAMBEAU_C_1(acosh)
FLAMBEAU_C_1(atanh)
}  // namespace FLAMBEAU_MATH
