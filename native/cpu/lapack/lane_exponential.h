#pragma once

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"

namespace flambeau::cpu {

/// How exponentials are approximated: by polynomials of a degree with these coefficients, from the
/// lowest power on, of matrices whose norm is at most `norm`.
struct Approximant {
  int degree;
  double norm;
  const double* coefficients;
};

/// Exponentials of tiny matrices, as many at once as a register has lanes, which lie as those of
/// LaneFactors. Compiled once per instruction set (lane_exponential.simd.cpp).
template <class T>
struct LaneExponential {
  int64_t lanes;
  /// `a` becomes the exponentials, NaN where it is not finite; `room`: for kRoom such matrices.
  void (*run)(const Approximant& approximant, int64_t n, T* a, T* room);
  static constexpr int64_t kRoom = 6;
};

FLAMBEAU_IN_EACH_SET(template <class T> const LaneExponential<T>& lane_exponential();)

/// The kernels for the processor at hand.
template <class T>
const LaneExponential<T>& lane_exponential() {
  static const LaneExponential<T>& best = FLAMBEAU_PICK(lane_exponential<T>)();
  return best;
}

}  // namespace flambeau::cpu
