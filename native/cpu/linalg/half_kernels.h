#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/linalg/gemm.h"

namespace flambeau::cpu {

/// So few lines are not worth packing.
inline constexpr int64_t kFewLines = 8;

/// c of products of lines: `few` of one factor with `many` of the other, which are dense.
template <class T>
struct HalfDots {
  int64_t few, many, depth;
  const T* left;
  int64_t left_line, left_step;
  const T* right;
  int64_t right_line;
  T* c;
  int64_t few_step, many_step;  ///< of c
  float alpha, beta;
  const T* bias;
  int64_t bias_few, bias_many;  ///< its steps

  void write(int64_t i, int64_t j, float sum) const {
    T& out = c[i * few_step + j * many_step];
    float value = alpha * sum;
    if (beta != 0) value += beta * static_cast<float>(out);
    if (bias) value += static_cast<float>(bias[i * bias_few + j * bias_many]);
    out = static_cast<T>(value);
  }
};

/// What is compiled once per instruction set.
template <class T>
struct HalfKernels {
  /// On one thread.
  void (*gemm)(const Product<T>& call);
  void (*dots)(const HalfDots<T>& call);
  int64_t tile_rows, tile_columns;
  int64_t few_lines = kFewLines;  ///< at most: `dots` is faster
};

FLAMBEAU_IN_EACH_SET(template <class T> const HalfKernels<T>& half_kernels();
                     /** Null where the instruction set has no such products. */
                     const HalfKernels<bfloat16>* paired_kernels();
                     const HalfKernels<bfloat16>* matrix_kernels();)

/// The kernels for the processor at hand.
template <class T>
const HalfKernels<T>& half_kernels();

}  // namespace flambeau::cpu
