#pragma once

#include "core/geometry/shape.h"

namespace flambeau {

FLAMBEAU_API bool broadcastable(IntList a, IntList b);
/// Broadcast of two shapes; Error(runtime) naming `op` and both.
FLAMBEAU_API Shape broadcast_shapes(IntList a, IntList b, const char* op);

}  // namespace flambeau
