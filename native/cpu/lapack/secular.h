#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// The eigenvalues of diag(poles) + scale * weights weights^T: poles[origins[i]] + shifts[i], where
/// the origin is the pole that is next to it, so that its distance to each of them is known to all
/// digits. Poles ascend and differ, no weight is 0, the scale is positive.
struct Secular {
  int64_t count;
  const double *poles, *weights;
  double scale;
  int64_t* origins;
  double* shifts;
};

/// Compiled once per instruction set (secular.simd.cpp). Numbers from `first` to below `last` are
/// found.
struct SecularKernels {
  void (*solve)(const Secular& call, int64_t first, int64_t last);
  /// The weights with which the eigenvalues, as they were rounded, are exact.
  void (*refine)(const Secular& call, int64_t first, int64_t last, double* refined);
  /// Eigenvector i, of length 1.
  void (*vector)(const Secular& call, int64_t i, const double* refined, double* line);
};

FLAMBEAU_IN_EACH_SET(const SecularKernels& secular_kernels();)

/// The kernels for the processor at hand.
inline const SecularKernels& secular_kernels() {
  static const SecularKernels& best = FLAMBEAU_PICK(secular_kernels)();
  return best;
}

}  // namespace flambeau::cpu
