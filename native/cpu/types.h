#pragma once

#include <cstdint>
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

/// T, or the type of the parts of a complex T.
template <class T>
using RealOf = typename detail::RealOfType<T>::type;
/// What numbers are computed in before they meet elements.
template <class T>
using NumberOf = typename detail::NumberOfType<T>::type;

}  // namespace flambeau
