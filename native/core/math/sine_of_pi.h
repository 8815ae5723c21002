#pragma once

/// What rooms' own functions share with gamma.h; macros as numbers.h says.

namespace FLAMBEAU_MATH::detail {

/// |sin(pi x)|, 0 for integers: of the distance from the nearest one, by a polynomial in its square
/// that agrees in 9 Chebyshev points, computed with mpmath. Loops over it vectorise.
FLAMBEAU_SHORT double sine_of_pi(double x) {
  const double whole = __builtin_rint(x), rest = x == whole ? 0 : __builtin_fabs(x - whole);
  const double z = rest * rest;
  const double high =
      0.0821458865731029 +
      z * (-0.007370430505916944 +
           z * (0.0004662998161898394 + z * (-2.1903497074626018e-05 + z * 7.697826768224191e-07)));
  return rest * (3.141592653589793 +
                 z * (-5.167712780049969 +
                      z * (2.5501640398773007 + z * (-0.5992645293189447 + z * high))));
}

}  // namespace FLAMBEAU_MATH::detail
