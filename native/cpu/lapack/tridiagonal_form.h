#pragma once

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"
#include "cpu/lapack/routines.h"

namespace flambeau::cpu {

/// A Hermitian matrix, of which the diagonal and what is below it count, by columns.
template <class T>
struct Hermitian {
  int64_t rows;
  T* a;
  int64_t step;
};

/// Of matrices that caches hold. Compiled once per instruction set
/// (tridiagonal_form.simd.cpp).
template <class T>
struct TridiagonalForm {
  /// How many numbers `reduce` needs room for.
  int64_t (*room)(int64_t rows);
  /// What LAPACK's sytrd or hetrd does with a lower triangle: the matrix becomes tridiagonal by
  /// reflections, whose vectors stand below the elements beside the diagonal.
  void (*reduce)(const Hermitian<T>& matrix, lapack::Real<T>* diagonal, lapack::Real<T>* beside,
                 T* tau, lapack::Real<T>* room);
};

FLAMBEAU_IN_EACH_SET(template <class T> const TridiagonalForm<T>& tridiagonal_form();)

/// The kernels for the processor at hand.
template <class T>
const TridiagonalForm<T>& tridiagonal_form() {
  static const TridiagonalForm<T>& best = FLAMBEAU_PICK(tridiagonal_form<T>)();
  return best;
}

}  // namespace flambeau::cpu
