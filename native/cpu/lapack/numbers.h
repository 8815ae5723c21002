#pragma once

/// What the kernels of factors ask of real and complex numbers alike. Include only from *.simd.cpp
/// files.

#include <cmath>

#include "core/types/complex.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// What pivots are chosen by: the modulus, or for complex numbers the sum of their parts.
template <class T>
T size_of(T value) {
  return std::abs(value);
}
template <class T>
T size_of(complex<T> value) {
  return std::abs(value.re) + std::abs(value.im);
}
template <class T>
using Size = decltype(size_of(T()));

template <class T>
T conjugate(T value) {
  return value;
}
template <class T>
complex<T> conjugate(complex<T> value) {
  return {value.re, -value.im};
}

template <class T>
T real_part(T value) {
  return value;
}
template <class T>
T real_part(complex<T> value) {
  return value.re;
}

template <class T>
T imaginary_part(T) {
  return T(0);
}
template <class T>
T imaginary_part(complex<T> value) {
  return value.im;
}

/// y -= factor * x in elements [first, rows).
template <class T>
void subtract(int64_t first, int64_t rows, T factor, const T* __restrict x, T* __restrict y) {
#pragma omp simd
  for (int64_t i = first; i < rows; ++i) y[i] = y[i] - factor * x[i];
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
