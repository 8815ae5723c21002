#pragma once

/// The length of the hypotenuse.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_2(hypot)
}  // namespace FLAMBEAU_MATH
