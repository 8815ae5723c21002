#pragma once

/// Error functions, which the room has: erf and erfc of reals; of float what declarations say is
/// `by hand`.

#include "core/math/numbers.h"
#include FLAMBEAU_OWN(error_functions)

namespace FLAMBEAU_MATH {

FLAMBEAU_OF_INTEGER(erf)
FLAMBEAU_OF_INTEGER(erfc)

}  // namespace FLAMBEAU_MATH
