#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/complex.h"

/// The types that generated formulas speak of, given the type T that elements are computed in.
namespace flambeau {

namespace detail {
template <class T>
struct RealOfType {
  using type = T;
};
template <class T>
struct RealOfType<complex<T>> {
  using type = T;
};
template <class T>
struct NumberOfType {
  using type = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
};
template <class T>
struct NumberOfType<complex<T>> {
  using type = complex<double>;
};
}  // namespace detail

/// Where a maximum, a minimum starts: an infinity, or the extreme integer.
template <class T>
constexpr T lowest() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
}
template <class T>
constexpr T highest() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// T, or the type of the parts of a complex T.
template <class T>
using RealOf = typename detail::RealOfType<T>::type;
/// What numbers are computed in before they meet elements.
template <class T>
using NumberOf = typename detail::NumberOfType<T>::type;

}  // namespace flambeau
