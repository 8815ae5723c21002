#pragma once

#include "cpu/lapack/matrices.h"

/// What is asked of real and complex numbers alike.
namespace flambeau::cpu::lapack {

/// The square of the magnitude.
template <class T>
double square_of(T x) {
  if constexpr (kIsComplex<T>) {
    return square_of(x.re) + square_of(x.im);
  } else {
    return static_cast<double>(x) * static_cast<double>(x);
  }
}

template <class T>
T conjugated(T x) {
  if constexpr (kIsComplex<T>) {
    return {x.re, -x.im};
  } else {
    return x;
  }
}

template <class T>
void conjugate_where_complex(const Matrix<T>& matrix) {
  if constexpr (kIsComplex<T>) conjugate(matrix);
}

}  // namespace flambeau::cpu::lapack
