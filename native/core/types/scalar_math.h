#pragma once

#include <cmath>

#include "core/base/error.h"
#include "core/types/scalar.h"

/// Arithmetic on numbers of a kind that is known only at run time, as Python does it: integers stay
/// integers (but for /), complex wins over float.
namespace flambeau {

namespace scalar_math {

template <class F>
inline Scalar combine(const Scalar& a, const Scalar& b, F function) {
  if (a.is_complex() || b.is_complex()) {
    return Scalar(function(a.to<complex<double>>(), b.to<complex<double>>()));
  }
  if (a.is_integral() && b.is_integral()) {  // these wrap around, as elements do
    const auto left = static_cast<uint64_t>(a.to<int64_t>());
    return Scalar(static_cast<int64_t>(function(left, static_cast<uint64_t>(b.to<int64_t>()))));
  }
  return Scalar(function(a.to<double>(), b.to<double>()));
}

/// Applies a function of real numbers; Error(type) naming it for a complex one.
template <class F>
inline Scalar apply(const char* name, const Scalar& a, F function) {
  if (a.is_complex()) {
    fail(ErrorKind::type, name, " of a complex number is not supported outside a tensor: ", a);
  }
  return Scalar(function(a.to<double>()));
}

inline Scalar conj(const Scalar& a) {
  if (!a.is_complex()) return a;
  const auto value = a.to<complex<double>>();
  return Scalar(complex<double>(value.re, -value.im));
}
inline Scalar real(const Scalar& a) {
  return a.is_complex() ? Scalar(a.to<complex<double>>().re) : a;
}
inline Scalar imag(const Scalar& a) {
  return a.is_complex() ? Scalar(a.to<complex<double>>().im) : Scalar(0);
}

/// Python's a ** b for real numbers; Error(not_implemented) for complex ones.
inline Scalar pow(const Scalar& a, const Scalar& b) {
  if (a.is_complex() || b.is_complex()) {
    fail(ErrorKind::not_implemented, "the power of complex numbers outside a tensor: ", a, " ** ",
         b);
  }
  const double value = std::pow(a.to<double>(), b.to<double>());
  const bool integral = a.is_integral() && b.is_integral() && b.to<int64_t>() >= 0;
  return integral ? Scalar(static_cast<int64_t>(value)) : Scalar(value);
}

}  // namespace scalar_math

inline Scalar operator+(const Scalar& a, const Scalar& b) {
  return scalar_math::combine(a, b, [](auto x, auto y) { return x + y; });
}
inline Scalar operator-(const Scalar& a, const Scalar& b) {
  return scalar_math::combine(a, b, [](auto x, auto y) { return x - y; });
}
inline Scalar operator*(const Scalar& a, const Scalar& b) {
  return scalar_math::combine(a, b, [](auto x, auto y) { return x * y; });
}
inline Scalar operator/(const Scalar& a, const Scalar& b) {
  if (a.is_complex() || b.is_complex()) {
    return Scalar(a.to<complex<double>>() / b.to<complex<double>>());
  }
  return Scalar(a.to<double>() / b.to<double>());
}
inline Scalar operator-(const Scalar& a) { return Scalar(0) - a; }

inline bool operator==(const Scalar& a, const Scalar& b) {
  return a.to<complex<double>>() == b.to<complex<double>>();
}

}  // namespace flambeau
