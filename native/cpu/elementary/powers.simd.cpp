#include "cpu/math/exponentials.h"

#include "core/math/rounding.h"

#ifdef FLAMBEAU_LANES_OF
#include "cpu/elementary/vectors.h"

/// Powers as 2^(b log2 |a|), and the sign of a where b is odd. Within 1 ULP.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using math::detail::kInfinity;
using math::detail::kNaN;
using math::detail::kWideRounder;
using math::detail::magnitude;
using math::detail::multiply_add;
using math::detail::polynomial;

/// What is not 2^(b log2 |a|). Even numbers are all large ones, and infinities.
template <class T>
FLAMBEAU_INLINE T completed(T value, T a, T b) {
  const T half = b * T(0.5);
  const bool is_whole = math::round(b) == b, is_odd = is_whole & (math::round(half) != half);
  const bool is_one = (b == 0) | (a == 1) | ((a == -1) & (magnitude(b) == kInfinity<T>));
  value = is_odd ? math::detail::with_sign(value, a) : value;
  value = (a < 0) & (a > -kInfinity<T>)&!is_whole ? kNaN<T> : value;
  return is_one ? T(1) : value;
}

struct Limits {
  double low, high;
};
constexpr Limits kSingle{-160, 140}, kDouble{-1080, 1024};

struct SinglePower {
  template <int count>
  static FLAMBEAU_INLINE void of_all(const float* a, const float* b, float* result) {
#pragma omp simd
    for (int i = 0; i < count; ++i) result[i] = of(a[i], b[i]);
  }
  /// In double, where the logarithm has a relative error of 2^-38.
  static FLAMBEAU_INLINE float of(float given, float exponent) {
    const double a = magnitude(given);
    const math::detail::LogParts<double> parts(a);
    const double f = parts.f(), z = f * f;
    const double p = polynomial(f, -0.04831203540185361, 0.0911476481307909, -0.09279751199096732,
                                0.09039106863761831, -0.09890773546375169, 0.11105751311834784,
                                -0.12505603500195875, 0.1428615610667169, -0.16666536331249768,
                                0.19999990003817167, -0.2500000107622702, 0.33333333391570963);
    const double rest = multiply_add(f * z, p, multiply_add(z, -0.5, f));
    double log = multiply_add(rest, 1.4426950408889634, parts.exponent());
    log = a < kInfinity<double> ? log : a;
    log = a == 0 ? -kInfinity<double> : log;
    const double x = math::detail::clamped(exponent * log, kSingle);
    const double shifted = x + kWideRounder, r = x - (shifted - kWideRounder);
    const double mantissa = polynomial(
        r, 1.5314822875702862e-05, 0.0001546709156848949, 0.0013333431352681316,
        0.009618036981186953, 0.05550410961853451, 0.24022651075241871, 0.6931471805418522, 1.);
    const uint64_t power = (std::bit_cast<uint64_t>(shifted) << 52) + (1023ull << 52);
    const float value = static_cast<float>(mantissa * std::bit_cast<double>(power));
    return completed(value, given, exponent);
  }
};

/// A sum of two numbers, of which the second is what the first was rounded by.
struct Pair {
  double high, low;
};
FLAMBEAU_INLINE Pair ordered_sum(double large, double small) {
  const double sum = large + small;
  return {sum, small - (sum - large)};
}
FLAMBEAU_INLINE Pair product(double a, double b) {
  const double high = a * b;
  return {high, multiply_add(a, b, -high)};
}
FLAMBEAU_INLINE Pair product(Pair a, Pair b) {
  const Pair found = product(a.high, b.high);
  return {found.high, found.low + multiply_add(a.high, b.low, a.low * b.high)};
}

/// log2 of a number of the normal range within 2^-66 of itself: with s = f / (2 + f),
/// log(1 + f) = 2 s (1 + z / 3 + z^2 Q(z)), z = s^2.
FLAMBEAU_INLINE Pair log2_of(double a) {
  const math::detail::Raised<double> raised(a);
  const math::detail::LogParts<double> parts(raised.value);
  const double f = parts.f();
  const Pair divisor = ordered_sum(2, f);
  const double inverse = 1 / divisor.high, high = f * inverse;
  const double left = multiply_add(-high, divisor.low, multiply_add(-high, divisor.high, f));
  const Pair s = ordered_sum(high, left * inverse), z = product(s, s);
  const double w = z.high * z.high;
  const double odd = polynomial(w, 0.05994732280995329, 0.06668159366790646, 0.0909090943499839,
                                0.14285714285722526);
  const double even = polynomial(w, 0.05837388333829318, 0.07692278430594567, 0.11111111108772054,
                                 0.1999999999999999);
  const double q = multiply_add(z.high, odd, even);
  const Pair third = product(z, {1. / 3, 1.850371707708594e-17});
  const Pair factor = ordered_sum(1, third.high);
  const Pair twice{2.8853900817779268, 4.0710547481862066e-17};  // 2 log2(e)
  const double low = factor.low + multiply_add(w, q, third.low);
  const Pair fraction = product(product(s, twice), {factor.high, low});
  const Pair sum = ordered_sum(parts.exponent() - raised.shift, fraction.high);
  return ordered_sum(sum.high, sum.low + fraction.low);
}

struct DoublePower {
  template <int count>
  static FLAMBEAU_INLINE void of_all(const double* a, const double* b, double* result) {
#pragma omp simd
    for (int i = 0; i < count; ++i) result[i] = of(a[i], b[i]);
  }
  static FLAMBEAU_INLINE double of(double given, double exponent) {
    const double a = magnitude(given);
    Pair log = log2_of(a);
    const bool is_edge = (a == 0) | !(a < kInfinity<double>);
    log.high = is_edge ? (a == 0 ? -kInfinity<double> : a) : log.high;
    const Pair whole_product = product(exponent, log.high);
    const double x = math::detail::clamped(whole_product.high, kDouble);
    const double rest = multiply_add(exponent, log.low, whole_product.low);
    const bool is_exact = x == whole_product.high && !is_edge;
    const double shifted = x + kWideRounder, near = x - (shifted - kWideRounder);
    const double r = (near + (is_exact ? rest : 0)) * 0.6931471805599453;
    const double mantissa = polynomial(r, math::detail::exp_rest(r), 1., 1.);
    const math::detail::WideRounded n{shifted};
    return completed(math::detail::scaled(mantissa, n, x, -1076.), given, exponent);
  }
};

}  // namespace

FLAMBEAU_FLOATS(FLAMBEAU_TWO, pow, SinglePower)
FLAMBEAU_DOUBLES(FLAMBEAU_TWO, pow, DoublePower)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
