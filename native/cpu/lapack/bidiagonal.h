#pragma once

#include "cpu/lapack/matrices.h"

namespace flambeau::cpu::lapack {

/// Singular values, descending, and vectors of a matrix, as gesdd finds them: T is float or double.
/// `left` has as many columns as it has rows, or as there are values; `right` as many rows. Returns
/// what bdsdc does, 1 where the matrix is not finite.
template <class T>
int find_singular(const Matrix<const T>& a, T* values, const Matrix<T>& left,
                  const Matrix<T>& right);

}  // namespace flambeau::cpu::lapack
