#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/macros.h"
#include "core/types/complex.h"
#include "core/types/half.h"

/// The types that generated formulas speak of, given the type T that elements are computed in, and
/// the starts of folds; for host and device.
namespace flambeau {

/// A bool in memory. Memory of others (arrays, files) may hold any byte, and change while it is
/// read: each but 0 is true. A C++ bool must never be loaded from there.
struct Boolean {
  uint8_t byte = 0;
  Boolean() = default;
  FLAMBEAU_HOST_DEVICE constexpr Boolean(bool value) : byte(value) {}         // implicit on purpose
  FLAMBEAU_HOST_DEVICE constexpr operator bool() const { return byte != 0; }  // implicit on purpose
};
/// What an element of type T is in memory.
template <class T>
using InMemory = std::conditional_t<std::is_same_v<T, bool>, Boolean, T>;
/// The same for loops: the vectoriser knows how to compare bytes.
template <class T>
using Loaded = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

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
template <class T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<float16> {
  using type = float;
};
template <>
struct ComputeOf<bfloat16> {
  using type = float;
};
template <>
struct ComputeOf<Boolean> {
  using type = bool;
};
}  // namespace detail

/// The type that formulas compute in for elements of type T.
template <class T>
using Compute = typename detail::ComputeOf<T>::type;
/// T, or the type of the parts of a complex T.
template <class T>
using RealOf = typename detail::RealOfType<T>::type;
/// What numbers are computed in before they meet elements.
template <class T>
using NumberOf = typename detail::NumberOfType<T>::type;

/// Where a minimum, a maximum starts: an infinity, or the extreme integer.
template <class T>
FLAMBEAU_HOST_DEVICE constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(__builtin_huge_val());
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(std::is_signed_v<T> ? static_cast<U>(~U{0}) >> 1 : ~U{0});
  }
}
template <class T>
FLAMBEAU_HOST_DEVICE constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(-__builtin_huge_val());
  } else if constexpr (std::is_unsigned_v<T>) {
    return T(0);
  } else {
    return static_cast<T>(-highest<T>() - 1);
  }
}

}  // namespace flambeau
