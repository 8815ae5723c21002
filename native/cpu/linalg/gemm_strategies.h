#pragma once

#include "cpu/linalg/gemm.h"

/// The ways to a product; gemm() chooses.
namespace flambeau::cpu {

/// Elements that a thread should read of a matrix that is multiplied by a vector.
constexpr int64_t kGemvWork = 32'768;

/// Tiles of c, cut between threads. T has tile kernels (gemm_kernel.h).
template <class T>
void gemm_tiled(const GemmCall<T>& call, const GemmKernels<T>& kernels);

/// The types that have tile kernels: a matrix and a vector without packing, else tiles.
template <class T>
void gemm_native(const GemmCall<T>& call);

/// Computes in copies of type Wide, and rounds (or wraps) once.
template <class T, class Wide>
void gemm_widened(const Product<T>& call);

/// A half matrix with dense rows and a vector, widened a few rows at a time; false where neither
/// factor is a vector, or where the matrix has no dense rows to be read in order.
template <class T>
bool try_gemv_widened(const Product<T>& call);

/// With the processor's products of bfloat16; false where it has none, or for a matrix and a
/// vector.
bool try_gemm_paired(const Product<bfloat16>& call);

/// Four real products of the real and imaginary planes. T is the type of a part.
template <class T>
void gemm_complex(const Product<complex<T>>& call);

}  // namespace flambeau::cpu
