#pragma once

/// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P, of double. Each is
/// computed where it is not close to 1, the other from it. Of float
/// arguments nine digits are enough: `Digits`.

#include "core/math/error_functions.h"
#include "core/math/gamma.h"

namespace FLAMBEAU_MATH {

namespace detail {

/// log gamma(1 + a), 0 <= a <= 1, with small relative error: a (a - 1) times a rational function
/// that agrees with the quotient in 15 Chebyshev points, computed with mpmath.
FLAMBEAU_SHORT double log_gamma_1p(double a) {
  constexpr double kAbove[] = {0.5772156649015329,    1.6820338260350902,    1.8707344397468786,
                               0.9930539511619251,    0.2566982959263716,    0.029220238177263783,
                               0.0010806808353172963, 2.9464583706491542e-06};
  constexpr double kBelow[] = {1.0,
                               3.3389343216914353,
                               4.390349291918599,
                               2.8861913529061702,
                               0.9950486887671878,
                               0.1724069213280621,
                               0.012995316495212218,
                               0.0002909818225874897};
  return a * (a - 1) * horner(kAbove, a) / horner(kBelow, a);
}

/// gamma(1 + a), 0 <= a < 30: by the functional equation from between 1 and 2. The sum a + 1 would
/// be rounded, which a steep gamma function shows; differences of a and integers are exact, and
/// what products lose is kept.
FLAMBEAU_LONG double gamma_1p(double a) {
  double product = 1, lost = 0;
  for (; a > 1; --a) {
    const double next = product * a;
    lost = lost * a + multiply_add(product, a, -next);
    product = next;
  }
  return (product + lost) * exp(log_gamma_1p(a));
}

/// mu - log(1 + mu): by the series of log((1 + r) / (1 - r)) where the difference would cancel.
FLAMBEAU_LONG double excess_of_log1p(double mu) {
  if (abs(mu) > 0.4) return mu - log1p(mu);
  const double r = mu / (2 + mu), z = r * r;
  double sum = 0;
  for (int k = 31; k >= 3; k -= 2) sum = sum * z + 1. / k;
  return r * mu - 2 * r * z * sum;
}

/// x^a e^-x / gamma(a + 1). Of a large a, x^a / a^a and e^(a - x) are corrected for what x / a and
/// a - x were rounded by; where the powers leave the range of doubles, the exponents are added.
FLAMBEAU_LONG double gamma_prefix(double a, double x) {
  if (a < 30) {
    if (x > 1000) return 0;
    const double half = exp(-0.5 * x);
    return pow(x, a) * half / gamma_1p(a) * half;
  }
  const double r = 1 / a, z = r * r;
  const double stirling =
      r * (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z / 1188))));
  const double scale = exp(-stirling) / sqrt(6.283185307179586 * a);
  if (abs(x - a) > 1000 || a > 1000 || x < 1e-30 * a)
    return exp(-a * excess_of_log1p((x - a) / a)) * scale;
  const double ratio = x / a, difference = a - x, back = difference + x;
  const double off = ::fma(-ratio, a, x) / ratio + (a - back) + (back - difference - x);
  const double power = pow(ratio, 0.5 * a) * exp(0.5 * difference);
  return power * power * scale * (1 + off);
}

struct Fraction {
  double above, below;
};

/// The same for a < 30 to nine digits, times a fraction, in one division. gamma(a + 1) is what the
/// functional equation leads to; 1 / gamma(1 + rest) agrees in 11 Chebyshev points, computed with
/// mpmath.
FLAMBEAU_LONG double short_gamma_prefix(double a, double x, Fraction times) {
  constexpr double kInverse[] = {
      0.9999999999929097,    0.5772156666183194,    -0.6558781403793379,   -0.04200155536954183,
      0.1665299065583419,    -0.042156656372767116, -0.009743353146629921, 0.007450726464190625,
      -0.001452174434709462, 8.769388427597056e-06, 2.6810686899263607e-05};
  double product = times.below, rest = a;
  for (; rest > 1; --rest) product *= rest;
  return ::exp(a * ::log(x) - x) * horner(kInverse, rest) * times.above / product;
}

/// How exact a result is to be.
struct Digits {
  bool few;
  FLAMBEAU_SHORT double rest() const { return few ? 1e-10 : 1e-17; }  // what a sum may lack
};

/// 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...: the terms, and what each step loses of them.
FLAMBEAU_LONG double exact_gamma_series(double a, double x) {
  double sum = 1, term = 1, sum_lost = 0, term_lost = 0;
  for (double n = 1; term > 1e-17 * sum; ++n) {
    const double k = a + n, k_back = k - a;
    const double k_lost = (a - (k - k_back)) + (n - k_back);
    const double inverse = 1 / k, ratio = x * inverse;
    const double ratio_lost = (multiply_add(-ratio, k, x) - ratio * k_lost) * inverse;
    const double next = term * ratio;
    term_lost = term_lost * ratio + (term * ratio_lost + multiply_add(term, ratio, -next));
    term = next;
    const double total = sum + term, back = total - sum;
    sum_lost += (sum - (total - back)) + (term - back) + term_lost;
    sum = total;
  }
  return sum + sum_lost;
}

/// The same series to nine digits, for a < 30 and x below a + 1. In steps of several terms, so that
/// processors foresee more often how many there are.
FLAMBEAU_LONG Fraction short_gamma_series(double a, double x) {
  double above = 1, below = 1, power = 1, k = a;
  while (power > 1e-10 * above) {
    for (int i = 0; i < 6; ++i) {
      ++k;
      power *= x;
      below *= k;
      above = above * k + power;
    }
  }
  return {above, below};
}

/// P for x not far above a: its power series. `to_subtract` from 1, its last digits do not count.
FLAMBEAU_LONG double lower_gamma_series(double a, double x, Digits digits, bool to_subtract) {
  if (digits.few && a < 30) return short_gamma_prefix(a, x, short_gamma_series(a, x));
  if (!digits.few && !to_subtract) return gamma_prefix(a, x) * exact_gamma_series(a, x);
  double sum = 1, term = 1;
  for (double k = a + 1; term > digits.rest() * sum; ++k) {
    term *= x / k;
    sum += term;
  }
  return gamma_prefix(a, x) * sum;
}

/// Legendre's continued fraction. Of a small a, from its end, where errors fade: how long it is was
/// counted for a < 30 and x > max(1, a); numerators alone, each the denominator before, as
/// divisions take longer, and below 1e200 where x is at most 1000 (beyond, the prefix is 0). Else
/// as the sum of the steps between its convergents, which have one sign and get smaller (J. Steed's
/// method). x - a is exact where it is small.
FLAMBEAU_LONG double gamma_fraction(double a, double x) {
  const double first = x - a + 1;
  if (a < 30) {
    const double more = a > 10 ? 0.8 * (a - 10) * a / x : 0;
    const double count = x > 1000 ? 0 : trunc(10 + 95 / x + more);
    double tail = first + 2 * count, before = 1;
    for (double k = count; k >= 1; --k) {
      const double next = (first + 2 * (k - 1)) * tail + k * (a - k) * before;
      before = tail, tail = next;
    }
    return before / tail;
  }
  double b = first, d = 1 / b, step = d, sum = d;
  for (int k = 1; k < 10000 && abs(step) > 2e-17 * sum; ++k) {
    const double factor = k * (a - k) * d;
    b += 2;
    d = 1 / (b + factor);
    step *= -factor * d;
    sum += step;
  }
  return sum;
}

/// The same to nine digits, by numerators and denominators, which needs no division per step.
FLAMBEAU_LONG Fraction short_gamma_fraction(double a, double x) {
  double b = x - a + 1, above = 1, above_before = 0, below = b, below_before = 1;
  for (int k = 1; k < 10000; ++k) {
    const double factor = k * (a - k);
    b += 2;
    const double next_above = b * above + factor * above_before;
    const double next_below = b * below + factor * below_before;
    const double gap = next_above * below - above * next_below, whole = next_above * below;
    if (abs(gap) <= 1e-10 * abs(whole)) return {next_above, next_below};
    const double scale = next_below > 1e100 ? 1e-100 : 1;
    above_before = above * scale, below_before = below * scale;
    above = next_above * scale, below = next_below * scale;
  }
  return {above, below};
}

/// Q for x above a + 1.
FLAMBEAU_LONG double upper_gamma_fraction(double a, double x, Digits digits) {
  if (!digits.few) return gamma_prefix(a, x) * a * gamma_fraction(a, x);
  const Fraction found = short_gamma_fraction(a, x);
  if (a < 30) return short_gamma_prefix(a, x, {a * found.above, found.below});
  return gamma_prefix(a, x) * a * (found.above / found.below);
}

/// Q for a and x at most 1: 1 - x^a / gamma(a + 1) (1 + a sum_k (-x)^k / (k! (a + k))).
FLAMBEAU_LONG double upper_gamma_small(double a, double x, Digits digits) {
  double sum = 0, power = 1;
  for (int k = 1; abs(power) > digits.rest(); ++k) {
    power *= -x / k;
    sum += power / (a + k);
  }
  const double exponent = a * log(x) - log_gamma_1p(a);
  return -expm1(exponent) - exp(exponent) * a * sum;
}

/// For large a and x near it, N. M. Temme's uniform expansion (NIST Digital Library of Mathematical
/// Functions, 8.12): erfc(+-eta sqrt(a / 2)) / 2 -+ e^(-a eta^2 / 2) / sqrt(2 pi a) sum c_k(eta)
/// a^-k, where eta^2 / 2 = mu - log(1 + mu), mu = x / a - 1. The series of the c_k follow from
/// c_0 = 1 / mu - 1 / eta, c_k = c_(k-1)' / eta + (-1)^k g_k / mu, in exact fractions; g_k are the
/// coefficients of Stirling's series of gamma.
FLAMBEAU_LONG double gamma_uniform(bool upper, double a, double x, Digits digits) {
  constexpr double kSeries[] = {
      -0.3333333333333333,     0.08333333333333333,     -0.014814814814814815,
      0.0011574074074074073,   0.0003527336860670194,   -0.0001787551440329218,
      3.919263178522438e-05,   -2.185448510679992e-06,  -1.85406221071516e-06,
      8.296711340953087e-07,   -1.7665952736826078e-07, 6.707853543401498e-09,
      1.0261809784240309e-08,  -4.382036018453353e-09,  9.14769958223679e-10,
      -2.5514193994946248e-11, -5.830772132550426e-11,  2.4361948020667415e-11,
      -0.001851851851851852,   -0.003472222222222222,   0.0026455026455026454,
      -0.0009902263374485596,  0.00020576131687242798,  -4.018775720164609e-07,
      -1.8098550334489977e-05, 7.64916091608111e-06,    -1.6120900894563446e-06,
      4.647127802807434e-09,   1.378633446915721e-07,   -5.752545603517705e-08,
      1.1951628599778148e-08,  -1.7543241719747647e-11, -1.0091543710600413e-09,
      0.004133597883597883,    -0.0026813271604938273,  0.0007716049382716049,
      2.0093878600823047e-06,  -0.0001073665322636516,  5.2923448829120125e-05,
      -1.2760635188618728e-05, 3.423578734096138e-08,   1.3721957309062934e-06,
      -6.298992138380055e-07,  1.4280614206064242e-07,  -2.0477098421990866e-10,
      -1.409252991086752e-08,  0.0006494341563786008,   0.00022947209362139917,
      -0.0004691894943952557,  0.00026772063206283885,  -7.561801671883977e-05,
      -2.396505113867297e-07,  1.1082654115347302e-05,  -5.6749528269915965e-06,
      1.4230900732435883e-06,  -2.7861080291528143e-11, -1.6958404091930278e-07,
      -0.0008618882909167117,  0.0007840392217200666,   -0.0002990724803031902,
      -1.4638452578843418e-06, 6.641498215465122e-05,   -3.968365047179435e-05,
      1.1375726970678419e-05,  2.507497226237533e-10,   -1.6954149536558305e-06,
      -0.00033679855336635813, -6.972813758365857e-05,  0.0002772753244959392,
      -0.00019932570516188847, 6.797780477937208e-05,   1.419062920643967e-07,
      -1.3594048189768693e-05, 0.0005313079364639922,   -0.0005921664373536939,
      0.0002708782096718045,   7.902353232660328e-07,   -8.153969367561969e-05,
      0.00034436760689237765,  5.171790908260592e-05,   -0.00033493161081142234,
      0.0002812695154763237};
  constexpr int kLengths[] = {18, 15, 13, 11, 9, 7, 5, 4};
  constexpr int kFewLengths[] = {12, 8, 5, 3};  // eta is below 0.5
  const double mu = (x - a) / a, half_square = excess_of_log1p(mu);
  const double eta = copysign(sqrt(2 * half_square), mu);
  double sum = 0, scale = 1;
  const double* series = kSeries;
  for (int k = 0; k < (digits.few ? 4 : 8); ++k) {
    double c = 0;
    for (int i = (digits.few ? kFewLengths[k] : kLengths[k]) - 1; i >= 0; --i)
      c = c * eta + series[i];
    sum += c * scale;
    scale /= a;
    series += kLengths[k];
  }
  const double rest = exp(-a * half_square) / sqrt(6.283185307179586 * a) * sum;
  const double middle = eta * sqrt(0.5 * a);
  return upper ? 0.5 * erfc(middle) + rest : 0.5 * erfc(-middle) - rest;
}

FLAMBEAU_LONG double incomplete_gamma_to(Digits digits, bool is_upper, double a, double x) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0)) return highest<double>() - highest<double>();
  if (a == highest<double>() && x == a) return a - x;
  if (x == 0 || a == highest<double>()) return is_upper ? 1 : 0;
  if (a == 0 || x == highest<double>()) return is_upper ? 0 : 1;
  // Far from x = a, what is computed exactly there is a power: an error of its exponent shows.
  if (a > 200 && abs(x - a) < (a > 5000 ? 0.3 * a : 4.5 * sqrt(a)))
    return gamma_uniform(is_upper, a, x, digits);
  if (x <= 1 && a <= 1) {
    if (is_upper) return upper_gamma_small(a, x, digits);
    return lower_gamma_series(a, x, digits, false);
  }
  // From a + 1 on both are cheap; Q is small before that, and 1 - P would show the errors of P. Of
  // all digits the fraction takes longer, as it divides at each step: P waits until it is short.
  const bool would_show = is_upper && x > 1 && !(digits.few && a > 0.1);
  const bool is_slow = !is_upper && !digits.few;
  if (x < (would_show ? a : is_slow ? a + 3 : a + 1)) {
    const double lower = lower_gamma_series(a, x, digits, is_upper);
    return is_upper ? 1 - lower : lower;
  }
  const double value = upper_gamma_fraction(a, x, digits);
  return is_upper ? value : 1 - value;
}

}  // namespace detail

/// Q(a, x) where `upper` is not 0, else P(a, x); NaN outside a >= 0, x >= 0.
FLAMBEAU_SHORT double incomplete_gamma(int64_t upper, double a, double x) {
  return detail::incomplete_gamma_to({false}, upper != 0, a, x);
}
FLAMBEAU_SHORT float incomplete_gamma(int64_t upper, float a, float x) {
  const double wide_a = static_cast<double>(a), wide_x = static_cast<double>(x);
  return static_cast<float>(detail::incomplete_gamma_to({true}, upper != 0, wide_a, wide_x));
}

}  // namespace FLAMBEAU_MATH
