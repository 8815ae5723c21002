#pragma once

#include "core/tensor/tensor.h"

namespace flambeau {

/// Whether writing to one tensor may change the other; and whether a tensor has two indices at one
/// address.
FLAMBEAU_API bool may_overlap(const Tensor& a, const Tensor& b);
FLAMBEAU_API bool has_internal_overlap(const Tensor& tensor);
/// Error(runtime) naming `op` where a tensor to write to has two indices at one address.
FLAMBEAU_API void check_writable(const Tensor& tensor, const char* op);
/// Whether the elements fill one block without gaps, in some order of the dims.
FLAMBEAU_API bool is_non_overlapping_dense(IntList sizes, IntList strides);

}  // namespace flambeau
