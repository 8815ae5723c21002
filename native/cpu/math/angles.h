#pragma once

/// The C library's, or vectors of ours by its names: elementary/waves.simd.cpp and angles.simd.cpp.

#include "core/math/c_library.h"
#include "cpu/math.h"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(sin)
FLAMBEAU_C_1(cos)
FLAMBEAU_C_1(tan)
FLAMBEAU_C_1(atan)
FLAMBEAU_C_2(atan2)
}  // namespace FLAMBEAU_MATH
