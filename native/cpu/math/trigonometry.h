#pragma once

/// Inverse sine and cosine, within 2 ULP; hyperbolic functions are made of exponentials.

#include "cpu/elementary/exponentials.h"
#include "cpu/elementary/logarithms.h"
#include "cpu/elementary/parts.h"

namespace FLAMBEAU_MATH {
namespace detail {

/// (asin(y) / y - 1) / y^2 for z = y^2 up to 1/4: relative errors of asin(y) 2^-27 and 2^-56.
FLAMBEAU_INLINE float asin_rest(float z) {
  return polynomial(z, 0.0421464853f, 0.024194574f, 0.0454663038f, 0.0749534294f, 0.166667506f);
}
FLAMBEAU_INLINE double asin_rest(double z) {
  return polynomial(z, 0.03179016433864273, -0.016032846523809947, 0.01939638362423648,
                    0.006580462328071449, 0.012155878180790582, 0.013887490171166937,
                    0.0173594480116596, 0.0223717775186417, 0.030381958188131608,
                    0.04464285685604533, 0.0750000000029468, 0.16666666666665653);
}

template <class T>
struct HalfPi;
template <>
struct HalfPi<float> {
  static constexpr float high = 1.57079637f, low = -4.37113883e-08f;
};
template <>
struct HalfPi<double> {
  static constexpr double high = 1.5707963267948966, low = 6.123233995736766e-17;
};

/// asin(|x|) up to 1/2, beyond half of its distance from pi / 2: asin(sqrt((1 - |x|) / 2)). A NaN
/// of what is greater than 1.
template <class T>
struct Arc {
  bool is_near;
  T value;
  FLAMBEAU_INLINE explicit Arc(T x) {
    const T size = magnitude(x);
    is_near = size <= T(0.5);
    const T z = is_near ? size * size : T(0.5) - T(0.5) * size;
    const T y = is_near ? size : root(z);
    value = multiply_add(y * z, asin_rest(z), y);
  }
};

template <class T>
FLAMBEAU_INLINE T asin_of(T x) {
  const Arc<T> arc(x);
  const T far = HalfPi<T>::high - (2 * arc.value - HalfPi<T>::low);
  return with_sign(arc.is_near ? arc.value : far, x);
}
template <class T>
FLAMBEAU_INLINE T acos_of(T x) {
  const Arc<T> arc(x);
  const T towards = with_sign(arc.value, x);
  const T near = HalfPi<T>::high - (towards - HalfPi<T>::low);
  const T twice = 2 * arc.value;
  const T far = x < 0 ? 2 * HalfPi<T>::high - (twice - 2 * HalfPi<T>::low) : twice;
  return arc.is_near ? near : far;
}

}  // namespace detail

FLAMBEAU_INLINE float asin(float x) { return detail::asin_of(x); }
FLAMBEAU_INLINE double asin(double x) { return detail::asin_of(x); }
FLAMBEAU_INLINE float acos(float x) { return detail::acos_of(x); }
FLAMBEAU_INLINE double acos(double x) { return detail::acos_of(x); }

}  // namespace FLAMBEAU_MATH
