#pragma once

/// The parts of complex numbers.

#include "core/math/numbers.h"

namespace FLAMBEAU_MATH {

template <Arithmetic T>
FLAMBEAU_SHORT T conj(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_SHORT T real(T x) {
  return x;
}
template <Arithmetic T>
FLAMBEAU_SHORT T imag(T) {
  return T(0);
}

template <class T>
FLAMBEAU_SHORT complex<T> conj(complex<T> x) {
  return {x.re, -x.im};
}
template <class T>
FLAMBEAU_SHORT T real(complex<T> x) {
  return x.re;
}
template <class T>
FLAMBEAU_SHORT T imag(complex<T> x) {
  return x.im;
}

}  // namespace FLAMBEAU_MATH
