#pragma once

#include "core/iteration/reduction.h"
#include "program.h"

namespace flambeau::opencl {

/// Runs a fold, given as functions fold_init, fold_step, fold_combine and fold_finish over
/// accumulators of type A: T, R, bool or long.
void reduce(const char* source, const char* accumulator, const Reduction& reduction);

}  // namespace flambeau::opencl
