#pragma once

/// Orthogonal polynomials, by their recurrences in double. The room may have
/// orthogonal_polynomial(kind, x, degree) of float and double.

#include "core/math/rounding.h"
#include "core/math/trigonometry.h"

namespace FLAMBEAU_MATH {

namespace detail {

/// The kinds of `orthogonal_polynomial`, as declarations number them.
enum Polynomial : int64_t {
  kChebyshevT,
  kChebyshevU,
  kChebyshevV,
  kChebyshevW,
  kHermiteH,
  kHermiteHe,
  kLaguerre,
  kLegendre
};

/// Of one number, or of the vectors of a room.
template <class Numbers>
FLAMBEAU_SHORT Numbers first_polynomial(int64_t kind, Numbers x) {
  switch (kind) {
    case kChebyshevU:
    case kHermiteH:
      return 2 * x;
    case kChebyshevV:
      return 2 * x - 1;
    case kChebyshevW:
      return 2 * x + 1;
    case kLaguerre:
      return 1 - x;
    default:
      return x;
  }
}

/// p_(k+1) from p_k and p_(k-1); `inverse` is 1 / (k + 1).
template <Arithmetic Number, class Numbers>
FLAMBEAU_SHORT Numbers next_polynomial(int64_t kind, Number k, double inverse, Numbers x,
                                       Numbers now, Numbers before) {
  switch (kind) {
    case kHermiteH:
      return multiply_add(2 * x, now, -(2 * k * before));
    case kHermiteHe:
      return multiply_add(x, now, -(k * before));
    case kLaguerre:
      return now + (k * (now - before) - x * now) * inverse;
    case kLegendre:
      return x * now + k * (x * now - before) * inverse;
    default:
      return multiply_add(2 * x, now, -before);
  }
}

/// Degrees below this are few steps, with divisors that are known.
inline constexpr int kFewSteps = 51;

/// An aggregate: device code initializes no table by a constructor.
struct Inverses {
  double of[kFewSteps + 1];
};
FLAMBEAU_HOST_DEVICE constexpr Inverses list_inverses() {
  Inverses inverses{};
  for (int k = 1; k <= kFewSteps; ++k) inverses.of[k] = 1. / k;
  return inverses;
}

/// Of a degree from 1 to kFewSteps - 1; may be NaN where the result is infinite.
template <class Numbers>
FLAMBEAU_SHORT Numbers low_polynomial(int64_t kind, Numbers x, int degree) {
  static constexpr Inverses inverses = list_inverses();
  const auto step = [&](int k, Numbers now, Numbers before) {
    return next_polynomial(kind, k, inverses.of[k + 1], x, now, before);
  };
  Numbers before = Numbers{} + 1, now = first_polynomial(kind, x);
  int k = 1;
  // Two steps at once, so that no number moves.
  for (; k + 1 < degree; k += 2) {
    before = step(k, now, before);
    now = step(k + 1, before, now);
  }
  return k < degree ? step(k, now, before) : now;
}

/// Chebyshev polynomials of high degree in (-1, 1), by x = cos(angle).
FLAMBEAU_SHORT double chebyshev_by_angle(int64_t kind, double n, double x) {
  const double angle = acos(x);
  switch (kind) {
    case kChebyshevT:
      return cos(n * angle);
    case kChebyshevU:
      return sin((n + 1) * angle) / sin(angle);
    case kChebyshevV:
      return cos((n + 0.5) * angle) / cos(0.5 * angle);
    default:
      return sin((n + 0.5) * angle) / sin(0.5 * angle);
  }
}

/// Of any degree.
FLAMBEAU_LONG double high_polynomial(int64_t kind, double x, double degree) {
  if (x != x || degree != degree) return x + degree;
  const double n = trunc(degree);
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (kind <= kChebyshevW && n >= kFewSteps && abs(x) < 1) return chebyshev_by_angle(kind, n, x);
  const bool is_hermite = kind == kHermiteH || kind == kHermiteHe;
  if (n > (is_hermite ? 512. : 16777216.)) return highest<double>() - highest<double>();
  double before = 1, now = first_polynomial(kind, x);
  for (double k = 1; k < n && abs(now) < highest<double>(); ++k) {
    const double next = next_polynomial(kind, k, 1 / (k + 1), x, now, before);
    before = now;
    now = next;
  }
  return now;
}

}  // namespace detail

/// The polynomial of degree n, cut to an integer; 0 for negative n. Degrees that would take
/// minutes, above 2^24, and of Hermite polynomials those that overflow, above 512, give NaN.
template <Arithmetic T>
FLAMBEAU_SHORT T orthogonal_polynomial(int64_t kind, T of, T degree) {
  const double x = of;
  if (degree >= 1 && degree < detail::kFewSteps) {
    const double value = detail::low_polynomial(kind, x, static_cast<int>(degree));
    if (abs(value) < highest<double>()) return static_cast<T>(value);
  }
  return static_cast<T>(detail::high_polynomial(kind, x, static_cast<double>(degree)));
}

}  // namespace FLAMBEAU_MATH
