#pragma once

#include "include/cuda_runtime.h"

namespace emulated {

/// In which order the threads of a block run between two barriers.
enum class Order { up, down, shuffled };

/// Runs the kernel for every thread of every block, one block after another.
void run(Launch& launch, Order order);

}  // namespace emulated
