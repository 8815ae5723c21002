#pragma once

/// Logarithms of the gamma function.

#include "cuda/math.cuh"

namespace FLAMBEAU_MATH {
FLAMBEAU_LONG float lgamma(float x) { return ::lgammaf(x); }
FLAMBEAU_LONG double lgamma(double x) { return ::lgamma(x); }
}  // namespace FLAMBEAU_MATH
