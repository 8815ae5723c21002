#pragma once

#include "core/base/macros.h"

namespace flambeau {

/// A complex number with the layout of std::complex and the same arithmetic on host and device.
/// Products and quotients follow the textbook formulas (no C99 Annex G recovery of infinities),
/// so that loops over them vectorise.
template <class T>
struct complex {
  using value_type = T;
  T re = 0, im = 0;
  complex() = default;
  FLAMBEAU_HOST_DEVICE constexpr complex(T real, T imag = 0) : re(real), im(imag) {}
  template <class U>
  FLAMBEAU_HOST_DEVICE constexpr explicit complex(const complex<U>& other)
      : re(static_cast<T>(other.re)), im(static_cast<T>(other.im)) {}
  FLAMBEAU_HOST_DEVICE constexpr complex operator-() const { return {-re, -im}; }
  FLAMBEAU_HOST_DEVICE constexpr complex& operator+=(complex b) { return *this = *this + b; }
  FLAMBEAU_HOST_DEVICE constexpr complex& operator*=(complex b) { return *this = *this * b; }
  FLAMBEAU_HOST_DEVICE friend constexpr complex operator+(complex a, complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  FLAMBEAU_HOST_DEVICE friend constexpr complex operator-(complex a, complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  FLAMBEAU_HOST_DEVICE friend constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  FLAMBEAU_HOST_DEVICE friend constexpr bool operator==(complex a, complex b) {
    return a.re == b.re && a.im == b.im;
  }
  FLAMBEAU_HOST_DEVICE friend constexpr bool operator!=(complex a, complex b) { return !(a == b); }
  /// Smith's method: scales by the larger part of the divisor, so that it does not overflow early.
  FLAMBEAU_HOST_DEVICE friend constexpr complex operator/(complex a, complex b) {
    const T real = b.re < 0 ? -b.re : b.re, imag = b.im < 0 ? -b.im : b.im;
    if (real >= imag) {
      if (real == 0 && imag == 0) return {a.re / T(0), a.im / T(0)};  // the sign of 0 is lost
      const T ratio = b.im / b.re, divisor = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor};
    }
    const T ratio = b.re / b.im, divisor = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor};
  }
};

}  // namespace flambeau
