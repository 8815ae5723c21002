#pragma once

#include "core/tensor/tensor.h"

namespace flambeau {

/// What moves the elements behind copy_data, fill_data and item. The core has expanded the source
/// to the destination's shape and removed overlap; layouts and dtypes are arbitrary, tensors are
/// not empty.
using CopyFunction = void(const Tensor& destination, const Tensor& source);
using FillFunction = void(const Tensor& tensor, const Scalar& value);
using ItemFunction = Scalar(const Tensor& tensor);

FLAMBEAU_API void register_copy(Backend from, Backend to, CopyFunction* copy);
FLAMBEAU_API void register_fill(Backend backend, FillFunction* fill);
FLAMBEAU_API void register_item(Backend backend, ItemFunction* item);

}  // namespace flambeau
