#pragma once

#include "cpu/linalg/gemm.h"

/// The ways to a product; gemm() chooses.
namespace flambeau::cpu {

/// Elements that a thread should read of a matrix that is multiplied by a vector.
constexpr int64_t kGemvWork = 32'768;

/// Tiles of c, cut between threads. T has tile kernels (gemm_kernel.h).
template <class T>
void gemm_tiled(const GemmCall<T>& call);

/// The types that have tile kernels: a matrix and a vector without packing, else tiles.
template <class T>
void gemm_native(const GemmCall<T>& call);

/// Halves, summed in float and rounded once (half_kernels.h).
template <class T>
void gemm_half(const Product<T>& call);

/// Computes in copies of type Wide, and wraps once.
template <class T, class Wide>
void gemm_widened(const Product<T>& call);

/// Matrices and vectors in real products, else tiles. T is the type of a part.
template <class T>
void gemm_complex(const Product<complex<T>>& call);

}  // namespace flambeau::cpu
