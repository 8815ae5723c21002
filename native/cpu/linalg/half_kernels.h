#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/linalg/few_lines.h"

namespace flambeau::cpu {

/// What is compiled once per instruction set.
template <class T>
struct HalfKernels {
  /// On one thread.
  void (*gemm)(const Product<T>& call);
  void (*dots)(const FewLines<T>& call);
  int64_t tile_rows, tile_columns;
  int64_t few_lines = kFewHalves;  ///< at most: `dots` is faster
};

FLAMBEAU_IN_EACH_SET(template <class T> const HalfKernels<T>& half_kernels();
                     /** Null where the instruction set has no such products. */
                     const HalfKernels<bfloat16>* paired_kernels();
                     const HalfKernels<bfloat16>* matrix_kernels();)

/// The kernels for the processor at hand.
template <class T>
const HalfKernels<T>& half_kernels();

}  // namespace flambeau::cpu
