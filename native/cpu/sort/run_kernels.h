#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// Loops over elements that begin a run: they differ from the one before, as element 0 does from
/// nothing. Ranges hold fewer than 2^31. Compiled once per instruction set.
template <class T>
struct RunKernels {
  /// How many there are among elements [begin, end).
  int64_t (*count)(const T* data, int64_t begin, int64_t end);
  /// Writes them to `to`, which has room for `count` of them, and no more.
  void (*values)(T* to, int64_t count, const T* data, int64_t begin, int64_t end);
  /// For each element its run, of which `run` are before; starts[run] is where a run begins, up to
  /// starts[last].
  void (*places)(int64_t* run_of, int64_t* starts, int64_t run, int64_t last, const T* data,
                 int64_t begin, int64_t end);
};

FLAMBEAU_IN_EACH_SET(template <class T> const RunKernels<T>& run_kernels();)

/// The kernels for the processor at hand.
template <class T>
const RunKernels<T>& run_kernels() {
  static const RunKernels<T>& best = FLAMBEAU_PICK(run_kernels<T>)();
  return best;
}

}  // namespace flambeau::cpu
