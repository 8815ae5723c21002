#pragma once

/// Exponentials and logarithms.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(exp)
FLAMBEAU_C_1(exp2)
FLAMBEAU_C_1(expm1)
FLAMBEAU_C_1(log)
FLAMBEAU_C_1(log2)
FLAMBEAU_C_1(log10)
FLAMBEAU_C_1(log1p)
FLAMBEAU_SHORT float sigmoid(float x) { return 1 / (1 + exp(-x)); }
}  // namespace FLAMBEAU_MATH
