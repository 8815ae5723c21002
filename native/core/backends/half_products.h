#pragma once

#include "core/base/macros.h"

namespace flambeau {

/// Whether the processor multiplies matrices of bfloat16 (AMX), and the system lets it.
FLAMBEAU_API bool has_matrix_products();
/// Whether it multiplies pairs of bfloat16.
FLAMBEAU_API bool has_paired_products();

}  // namespace flambeau
