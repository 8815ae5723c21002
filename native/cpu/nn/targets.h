#pragma once

#include "core/tensor/tensor.h"

namespace flambeau::cpu {

/// Targets as dense int64, each a class or ignore_index. Error(index) names the first that is
/// neither.
Tensor checked_targets(const Tensor& target, int64_t classes, int64_t ignored, const char* op);

}  // namespace flambeau::cpu
