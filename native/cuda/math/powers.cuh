#pragma once

/// Powers and roots.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_SHORT float sqrt(float x) { return ::sqrtf(x); }
FLAMBEAU_SHORT double sqrt(double x) { return ::sqrt(x); }
FLAMBEAU_DEAR float pow(float a, float b) { return ::powf(a, b); }
FLAMBEAU_DEAR double pow(double a, double b) { return ::pow(a, b); }
}  // namespace FLAMBEAU_MATH
