#pragma once

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"

namespace flambeau::cpu {

/// Factors of tiny matrices, as many at once as a register has lanes: the first element of all,
/// then the next of the row, row after row. Exchanges and factors of reflections lie likewise. What
/// LAPACK does is described at netlib.org/lapack. Compiled once per instruction set
/// (lane_factors.simd.cpp).
template <class T>
struct LaneFactors {
  int64_t lanes;
  /// getrf; failed: the number of the first pivot that is 0, from 1; 0: there is none.
  void (*factor)(int64_t rows, int64_t columns, T* a, int* swaps, int* failed);
  /// Determinants, one a lane; `a` is destroyed.
  void (*determinants)(int64_t n, T* a, T* results);
  /// getrs, with these factors of n rows, or of the transpose where they are transposed; they are
  /// destroyed.
  void (*solve)(bool transposed, int64_t n, int64_t columns, T* factors, const int* swaps, T* b);
  /// trtrs: b becomes the solution of the system of a triangle of n rows, which is destroyed.
  void (*substitute)(bool is_upper, bool is_unit, int64_t n, int64_t columns, T* a, T* b);
  /// potrf of lower triangles, with zeros above; failed: the order of the first leading minor that
  /// is not positive.
  void (*factor_definite)(int64_t n, T* a, int* failed);
  /// geqr2.
  void (*reflect)(int64_t rows, int64_t columns, T* a, T* tau);
  /// org2r, ung2r: the first columns of the product of `count` reflections; as many has a, which
  /// is destroyed.
  void (*multiply_reflections)(int64_t rows, int64_t columns, int64_t count, T* a, T* tau,
                               T* result);
  /// orm2r, unm2r from the left: b, of so many rows and columns, is multiplied by the product of
  /// `count` reflections, the vectors of which are columns of a, or by its adjoint; a and tau are
  /// destroyed.
  void (*apply_reflections)(bool adjoint, int64_t rows, int64_t columns, int64_t count,
                            int64_t a_columns, T* a, T* tau, T* b);
};

/// Rows and columns up to which matrices of a batch are factored so, and the most lanes.
inline constexpr int64_t kTiny = 16, kMostLanes = 16;

FLAMBEAU_IN_EACH_SET(template <class T> const LaneFactors<T>& lane_factors();)

/// The kernels for the processor at hand.
template <class T>
const LaneFactors<T>& lane_factors() {
  static const LaneFactors<T>& best = FLAMBEAU_PICK(lane_factors<T>)();
  return best;
}

}  // namespace flambeau::cpu
