#pragma once

/// All that generated kernels are made of. Their units include it first, so that a build can
/// compile it ahead of them, once per instruction set: parsing it takes longer than most kernels.

#include "cpu/kernels.h"
