#pragma once

/// Orthogonal polynomials, by their recurrences in double.

#include "core/math/elementary.h"

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

/// p_(k+1) from p_k and p_(k-1).
FLAMBEAU_SHORT double next_polynomial(int64_t kind, double k, double x, double now, double before) {
  switch (kind) {
    case kHermiteH:
      return 2 * x * now - 2 * k * before;
    case kHermiteHe:
      return x * now - k * before;
    case kLaguerre:
      return ((2 * k + 1 - x) * now - k * before) / (k + 1);
    case kLegendre:
      return ((2 * k + 1) * x * now - k * before) / (k + 1);
    default:
      return 2 * x * now - before;
  }
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

}  // namespace detail

/// The polynomial of degree n, cut to an integer; 0 for negative n. Degrees that would take
/// minutes, above 2^24, and of Hermite polynomials those that overflow, above 512, give NaN.
FLAMBEAU_LONG double orthogonal_polynomial(int64_t kind, double x, double degree) {
  if (x != x || degree != degree) return x + degree;
  const double n = trunc(degree);
  if (n < 0) return 0;
  if (n == 0) return 1;
  const bool is_hermite = kind == detail::kHermiteH || kind == detail::kHermiteHe;
  const bool is_chebyshev = kind <= detail::kChebyshevW;
  if (is_chebyshev && n > 50 && abs(x) < 1) return detail::chebyshev_by_angle(kind, n, x);
  if (n > (is_hermite ? 512. : 16777216.)) return highest<double>() - highest<double>();
  double before = 1, now = x;
  if (kind == detail::kChebyshevU || kind == detail::kHermiteH) now = 2 * x;
  if (kind == detail::kChebyshevV) now = 2 * x - 1;
  if (kind == detail::kChebyshevW) now = 2 * x + 1;
  if (kind == detail::kLaguerre) now = 1 - x;
  for (double k = 1; k < n && abs(now) < highest<double>(); ++k) {
    const double next = detail::next_polynomial(kind, k, x, now, before);
    before = now;
    now = next;
  }
  return now;
}
FLAMBEAU_SHORT float orthogonal_polynomial(int64_t kind, float x, float degree) {
  return static_cast<float>(
      orthogonal_polynomial(kind, static_cast<double>(x), static_cast<double>(degree)));
}

}  // namespace FLAMBEAU_MATH
