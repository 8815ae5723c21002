#pragma once

/// Error functions, and some of float.

#include "core/math/c_library.h"
#include "cpu/elementary/parts.h"

namespace FLAMBEAU_MATH {

FLAMBEAU_C_1(erfc)
FLAMBEAU_INLINE double erf(double x) { return ::erf(x); }

/// x P(x^2) / Q(x^2), a minimax fit of relative error 2e-8 up to where the result rounds to 1.
FLAMBEAU_INLINE float erf(float x) {
  const float y = detail::clamped(x, kErfBounds);
  const float z = y * y;
  const float p = detail::polynomial(z, 2.0418722215254093e-06f, 2.8478886815719306e-04f,
                                     3.7792553193867207e-03f, 5.278918147087097e-02f,
                                     1.9077719748020172e-01f, 1.1283791065216064f);
  const float q = detail::polynomial(z, 3.8002010114723817e-05f, 1.1651043314486742e-03f,
                                     1.499674841761589e-02f, 1.1425457149744034e-01f,
                                     5.024046301841736e-01f, 1.f);
  return detail::clamped(y * p / q, kUnitBounds);
}

/// Of the standard normal distribution: half of erfc(-x / sqrt 2). Its slope makes up for what the
/// argument loses as a float: erfc'(u) is -erfc(u) (u + sqrt(u^2 + 4 / pi)), in the tail nearly,
/// and elsewhere small (Komatu's bounds). What rounds to 0 and 1 is not asked of the C library.
FLAMBEAU_INLINE float ndtr(float given) {
  const float near = given < kNdtrBounds.low ? 0.f : given;
  const double exact =
      -0.7071067811865476 * static_cast<double>(near > kNdtrBounds.high ? kNdtrBounds.high : near);
  const float u = static_cast<float>(exact), lost = static_cast<float>(exact - u);
  const float tail = 0.5f * ::erfcf(u);
  const float value = tail - tail * (lost * (u + __builtin_sqrtf(u * u + 1.27323954f)));
  return given < kNdtrBounds.low ? 0.f : value;
}

/// x P(w) with w = -log(1 - x^2), in the tails x Q(sqrt w): M. Giles, "Approximating the erfinv
/// function", GPU Computing Gems 2, 2011; minimax fits of relative error 6e-9 and 7e-8.
FLAMBEAU_INLINE float erfinv(float x) {
  const float w = -::logf((1.f - x) * (1.f + x));
  const float near =
      detail::polynomial(w - 2.5f, -8.79104078e-09f, 2.32326656e-08f, 4.66170462e-07f,
                         -3.46270508e-06f, -4.96334678e-06f, 2.18344445e-04f, -1.25274190e-03f,
                         -4.17738687e-03f, 2.46640280e-01f, 1.50140941f);
  const float far = detail::polynomial(__builtin_sqrtf(w) - 3.f, -1.81468436e-04f, 9.49156456e-05f,
                                       1.32290274e-03f, -3.66865424e-03f, 5.75130060e-03f,
                                       -7.62319844e-03f, 9.43721645e-03f, 1.00167406f, 2.83297706f);
  const float value = x * (w < 5.f ? near : far);
  return x * x == 1.f ? __builtin_copysignf(__builtin_inff(), x) : value;
}

}  // namespace FLAMBEAU_MATH
