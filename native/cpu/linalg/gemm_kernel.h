#pragma once

#include <cstdint>
#include <type_traits>

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"

namespace flambeau::cpu {

/// A matrix in memory: element (i, j) at data[i * row + j * column]. Any strides.
template <class T>
struct MatrixView {
  const T* data;
  int64_t row, column;
  MatrixView at(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column}; }
  MatrixView transposed() const { return {data, column, row}; }
};

/// The real and imaginary parts of numbers, in turns.
template <class T>
T* parts(complex<T>* numbers) {
  return reinterpret_cast<T*>(numbers);
}
template <class T>
const T* parts(const complex<T>* numbers) {
  return reinterpret_cast<const T*>(numbers);
}

/// Two bfloat16 that follow each other along the depth of a product, the first in the low half.
using Bfloat16Pair = uint32_t;

/// What products of elements add up in.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, Bfloat16Pair>, float, T>;

/// c = alpha * a @ b + beta * c (+ bias, one value per column): a is m x k, b is k x n, of any
/// strides; c is m x n with unit column stride and does not overlap a, b. beta == 0: c is not read.
template <class T, class C = Sum<T>, class Factor = C>
struct GemmCall {
  int64_t m, n, k;
  MatrixView<T> a, b;
  C* c;
  int64_t ldc;
  Factor alpha = Factor(1), beta = Factor(0);
  const C* bias = nullptr;
};

/// y = alpha * a @ x + beta * y for a of rows x columns; unit stride of a along columns
/// (`gemv_rows`: one dot product a row) or along rows (`gemv_columns`: a sum of columns). y and x
/// have unit stride.
template <class T>
struct GemvCall {
  int64_t rows, columns;
  const T* a;
  int64_t lda;
  const T* x;
  T* y;
  T alpha, beta;
};

template <class T>
struct FewLines;

/// What is compiled once per instruction set (gemm_kernel.simd.cpp, gemm_complex.simd.cpp).
template <class T>
struct GemmKernels {
  /// On one thread.
  void (*gemm)(const GemmCall<T>& call);
  /// Null for complex numbers, whose vectors are multiplied in real products.
  void (*gemv_rows)(const GemvCall<T>& call);
  void (*gemv_columns)(const GemvCall<T>& call);
  void (*dots)(const FewLines<T>& call);
  int64_t few_lines;                ///< at most: `dots` is faster
  int64_t tile_rows, tile_columns;  ///< splitting c between threads at multiples loses nothing
};

FLAMBEAU_IN_EACH_SET(template <class T> const GemmKernels<T>& gemm_kernels();)

/// The kernels for the processor at hand.
template <class T>
const GemmKernels<T>& gemm_kernels() {
  static const GemmKernels<T>& best = FLAMBEAU_PICK(gemm_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
