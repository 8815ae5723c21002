#pragma once

#include "cpu/lapack/matrices.h"

namespace flambeau::cpu::lapack {

/// All eigenvalues, ascending, and vectors of a symmetric matrix with these numbers on its diagonal
/// and n - 1 beside it; T is float or double. `vectors` lies by columns. All are NaN where a number
/// is not finite. False: a small part of the matrix did not converge.
template <class T>
bool solve_tridiagonal(const T* diagonal, const T* beside, T* values, const Matrix<T>& vectors);

}  // namespace flambeau::cpu::lapack
