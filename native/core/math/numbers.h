#pragma once

/// What the functions that formulas call are made of. They are in headers beside this one, each of
/// which has the name of a file of declarations/functions, or are written from their definitions,
/// in functions/ of what is generated. One source for every processor: a room's own header
/// (cpu/math.h, cuda/math.cuh) says, before it includes this one,
///     FLAMBEAU_MATH          the namespace to define the functions in,
///     FLAMBEAU_OWN(family)   the room's header of a family, of functions that C libraries have:
///                            those of float and double, by c_library.h or faster ones of its own,
///     FLAMBEAU_SHORT         specifiers of functions that are inlined,
///     FLAMBEAU_DEAR          of dear ones: inlined where loops vectorise, else called,
///     FLAMBEAU_DEFINED       of those that are generated: called, by loops for several lanes,
///     FLAMBEAU_LONG          of long ones, with loops or branches: called.
/// Integer arguments of functions on reals are computed in double. Functions are branch-free where
/// loops over them should vectorise. A header includes those of functions that it calls, and no
/// more: what changes is compiled anew with all that includes it.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/base/macros.h"
#include "core/types/element_types.h"

namespace flambeau::math {

/// A complex literal of a formula, for any T.
template <class T>
FLAMBEAU_HOST_DEVICE constexpr T make_complex(double re, double im) {
  if constexpr (requires { typename T::value_type; }) {
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
  } else {
    return static_cast<T>(re);
  }
}

}  // namespace flambeau::math

namespace FLAMBEAU_MATH {

using ::flambeau::math::make_complex;

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Integer = std::integral<T>;
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

#define FLAMBEAU_OF_INTEGER(name) \
  FLAMBEAU_SHORT double name(Integer auto x) { return name(static_cast<double>(x)); }
#define FLAMBEAU_OF_TWO(name)                                    \
  template <Arithmetic A, Arithmetic B>                          \
  FLAMBEAU_SHORT double name(A a, B b) {                         \
    return name(static_cast<double>(a), static_cast<double>(b)); \
  }
#define FLAMBEAU_COMPLEX \
  template <class T>     \
  FLAMBEAU_DEAR complex<T>

namespace detail {

template <class T>
FLAMBEAU_SHORT complex<T> scaled(complex<T> x, T factor) {
  return {x.re * factor, x.im * factor};
}

/// Where functions change their form.
template <class T>
struct Range {
  static constexpr bool is_float = sizeof(T) == 4;
  static constexpr T largest_exponent = is_float ? T(88) : T(709);  // of a finite exp
  static constexpr T flat_tanh = is_float ? T(11) : T(22);          // 1 up to rounding from here
  static constexpr T large = is_float ? T(0x1p24) : T(0x1p53);      // 1 vanishes beside it
  static constexpr T tiny = is_float ? T(0x1p-100) : T(0x1p-960);   // few digits below it
  static constexpr T up = is_float ? T(0x1p60) : T(0x1p200);        // brings them back
  static constexpr T root_of_up = is_float ? T(0x1p30) : T(0x1p100);
  static constexpr T log_up = is_float ? T(41.58883083359672) : T(138.62943611198907);
};

}  // namespace detail

/// A number times an element. A real factor leaves infinite parts of a complex one apart, which a
/// product of complex numbers adds up to NaN.
template <class T>
FLAMBEAU_SHORT T scaled(T factor, T x) {
  return static_cast<T>(factor * x);
}
template <class T>
FLAMBEAU_SHORT complex<T> scaled(complex<T> factor, complex<T> x) {
  return factor.im == 0 ? detail::scaled(x, factor.re) : factor * x;
}

}  // namespace FLAMBEAU_MATH
