#pragma once

/// Sines, cosines, tangents, and the way back from them.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(sin)
FLAMBEAU_C_1(cos)
FLAMBEAU_C_1(tan)
FLAMBEAU_C_1(atan)
FLAMBEAU_C_2(atan2)
}  // namespace FLAMBEAU_MATH
