#pragma once

#include "core/tensor/tensor.h"

namespace flambeau::cpu {

/// Targets as dense int64, each a class or ignore_index. Error(index) names the first that is
/// neither.
Tensor checked_targets(const Tensor& target, int64_t classes, int64_t ignored, const char* op);

/// The sum of the weights of checked targets that count; where `weight` is undefined, their number.
double total_weight(const Tensor& targets, const Tensor& weight, int64_t ignored);

}  // namespace flambeau::cpu
