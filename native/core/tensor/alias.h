#pragma once

#include "core/tensor/tensor.h"

namespace flambeau {

/// A tensor of the same dtype and geometry on `storage`, without history: another name for the
/// elements of `source` where the storage is its own, or an alias of it.
FLAMBEAU_API Tensor alias_of(const Tensor& source, Ref<Storage> storage);

}  // namespace flambeau
