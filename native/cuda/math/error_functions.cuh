#pragma once

/// Error functions.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(erf)
FLAMBEAU_C_1(erfc)
FLAMBEAU_LONG float erfinv(float x) { return ::erfinvf(x); }
}  // namespace FLAMBEAU_MATH
