#pragma once

/// Sines, cosines, tangents, and the way back from them: the C library's. On the CPU they may be
/// vectors of ours by its names: cpu/elementary/waves.simd.cpp and angles.simd.cpp.

#include "core/math/c_library.h"
#include "core/math/numbers.h"

namespace FLAMBEAU_MATH {
FLAMBEAU_C_1(sin)
FLAMBEAU_C_1(cos)
FLAMBEAU_C_1(tan)
FLAMBEAU_C_1(atan)
FLAMBEAU_C_2(atan2)
}  // namespace FLAMBEAU_MATH
