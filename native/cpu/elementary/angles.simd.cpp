#include "cpu/math/trigonometry.h"

#ifdef FLAMBEAU_LANES_OF
#include "cpu/elementary/vectors.h"

/// The angle of a point: of its smaller coordinate over the larger one, or, beyond pi / 8, of the
/// rest to the diagonal, by a minimax polynomial. Within 2.5 ULP.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using math::detail::HalfPi;
using math::detail::kInfinity;
using math::detail::magnitude;
using math::detail::multiply_add;
using math::detail::polynomial;

/// atan(t) / t - 1 over t^2, up to tan(pi / 8): relative errors 2^-30 and 2^-59.
FLAMBEAU_INLINE float arc_rest(float z) {
  return polynomial(z, -0.0607808478f, 0.105937622f, -0.142435268f, 0.199984714f, -0.333333164f);
}
FLAMBEAU_INLINE double arc_rest(double z) {
  const double w = z * z;
  const double even =
      polynomial(w, -0.017904104788127883, -0.05039158095689362, -0.06663098262620754,
                 -0.09090897720873581, -0.142857142801638, -0.333333333333332);
  const double odd = polynomial(w, 0.03806130188507253, 0.05847852254524025, 0.07692059636928435,
                                0.11111110782008905, 0.19999999999953222);
  return multiply_add(z, odd, even);
}

struct Angle {
  template <int count, class T>
  static FLAMBEAU_INLINE void of_all(const T* y, const T* x, T* result) {
    constexpr T kMost = sizeof(T) == 4 ? T(1e38) : T(1e307);
    alignas(64) T beside[count];  // of 0, of what is huge, of NaN: negative
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      const T size = magnitude(y[i]) + magnitude(x[i]);
      beside[i] = (size > 0) & (size < kMost) ? T(1) : T(-1);
    }
    if (FLAMBEAU_LIKELY(!any_negative<count>(beside))) {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = of<false>(y[i], x[i]);
    } else {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = of<true>(y[i], x[i]);
    }
  }
  template <bool is_any, class T>
  static FLAMBEAU_INLINE T of(T y, T x) {
    const T height = magnitude(y), width = magnitude(x);
    const bool is_steep = height > width;
    const T large = is_steep ? height : width, small = is_steep ? width : height;
    const bool is_endless = is_any && small == kInfinity<T>;
    const bool is_diagonal = (small > T(0.41421356237309503) * large) | is_endless;
    // Sums of two large numbers may overflow, small ones have no digits to lose.
    const T scale = is_any && large > 1 ? T(0.5) : T(1);
    const T above = is_diagonal ? (small - large) * scale : small;
    const T below = is_diagonal ? multiply_add(small, scale, large * scale) : large;
    const bool is_corner = is_any && ((large == 0) | is_endless);
    const T t = is_corner ? T(0) : above / below, z = t * t;
    const T arc = multiply_add(t * z, arc_rest(z), t);
    // Counted in quarters of a turn from where the angle is 0, then back from one and from two.
    const T near = is_diagonal ? T(0.5) : T(0), from_axis = is_steep ? 1 - near : near;
    const T steep = is_steep ? -arc : arc;
    const bool is_left = math::detail::with_sign(T(1), x) < 0;
    const T quarters = is_left ? 2 - from_axis : from_axis, rest = is_left ? -steep : steep;
    const T value =
        multiply_add(quarters, HalfPi<T>::high, multiply_add(quarters, HalfPi<T>::low, rest));
    const T turned = math::detail::with_sign(value, y);
    return is_any && (x != x) | (y != y) ? x + y : turned;
  }
};

}  // namespace

FLAMBEAU_FLOATS(FLAMBEAU_TWO, atan2, Angle)
FLAMBEAU_DOUBLES(FLAMBEAU_TWO, atan2, Angle)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
