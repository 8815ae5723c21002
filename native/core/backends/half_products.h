#pragma once

#include "core/base/macros.h"
#include "core/types/dtype.h"

namespace flambeau {

/// Whether the processor multiplies matrices of bfloat16 (AMX), and the system lets it.
FLAMBEAU_API bool has_matrix_products();
/// Whether it multiplies pairs of bfloat16.
FLAMBEAU_API bool has_paired_products();
/// Whether it multiplies matrices of a type in registers that hold matrices.
FLAMBEAU_API bool multiplies_matrices(DType dtype);

}  // namespace flambeau
