#pragma once

/// The C library's, or vectors of ours by its names: elementary/powers.simd.cpp.

#include "core/math/c_library.h"
#include "cpu/math.h"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(sqrt)
FLAMBEAU_C_2(pow)
}  // namespace FLAMBEAU_MATH
