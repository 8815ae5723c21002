#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"
#include "cpu/lapack/routines.h"

namespace flambeau::cpu {

/// Eigenvalues and singular values of tiny matrices, as many at once as a register has lanes,
/// by rotations of two columns (C. G. J. Jacobi, 1846; M. R. Hestenes, Inversion of Matrices by
/// Biorthogonalization and Related Results, 1958). Elements lie as those of LaneFactors. Compiled
/// once per instruction set (lane_rotations.simd.cpp).
template <class T>
struct LaneRotations {
  int64_t lanes;
  /// Of Hermitian matrices, whose upper triangle is read: values, ascending; vectors as columns,
  /// unless that is null. Returns which lanes found none, as bits: of numbers that are not finite,
  /// or of which many rounds were not enough.
  uint32_t (*symmetric)(int64_t n, T* a, lapack::Real<T>* values, T* vectors);
  /// Of matrices with no more columns than rows, which become the left vectors: values,
  /// descending; conjugates of the right vectors as columns, unless that is null. Returns the same,
  /// and which lanes have values of 0 where vectors are wanted.
  uint32_t (*singular)(int64_t rows, int64_t columns, T* a, lapack::Real<T>* values, T* vectors);
};

/// Rows and columns up to which that is faster than one matrix after the other.
inline constexpr int64_t kRotated = 8;

FLAMBEAU_IN_EACH_SET(template <class T> const LaneRotations<T>& lane_rotations();)

/// The kernels for the processor at hand.
template <class T>
const LaneRotations<T>& lane_rotations() {
  static const LaneRotations<T>& best = FLAMBEAU_PICK(lane_rotations<T>)();
  return best;
}

}  // namespace flambeau::cpu
