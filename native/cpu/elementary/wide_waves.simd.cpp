#include "cpu/elementary/parts.h"

#ifdef FLAMBEAU_LANES_OF
#include "cpu/elementary/turns.h"
#include "cpu/elementary/vectors.h"

/// Sine and cosine of doubles: reduced to what lies around the nearest zero of the function, then
/// by a minimax polynomial. Within 2 ULP for all doubles.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using math::detail::kWideRounder;
using math::detail::multiply_add;
using math::detail::polynomial;

/// r + quarters * pi / 2, where quarters are 2 n for the sine, 2 n + 1 for the cosine; the lowest
/// bit of `n` is that of the number. |r| is up to pi / 2 or very little more.
struct Turned {
  double r;
  uint64_t n;
};
enum class Zeros { even, odd };

/// The zero that is nearest to a number of quarters, or of quarters / `unit`.
template <Zeros zeros>
struct Nearest {
  static constexpr double kOffset =
      zeros == Zeros::odd ? 0.5 : 0;  // of n from half of the quarters
  double shifted;
  FLAMBEAU_INLINE Nearest(double quarters, double unit)
      : shifted(multiply_add(quarters, 0.5 * unit, -kOffset) + kWideRounder) {}
  FLAMBEAU_INLINE double quarters() const {
    return multiply_add(shifted - kWideRounder, 2., 2 * kOffset);
  }
  FLAMBEAU_INLINE uint64_t n() const { return std::bit_cast<uint64_t>(shifted); }
};

/// Up to here a number of quarters is exact, and pi / 2 in three doubles leaves all bits of any
/// rest: the first product and its difference are exact.
constexpr double kNear = 0x1p45;

template <Zeros zeros>
FLAMBEAU_INLINE Turned turned_near(double x) {
  const Nearest<zeros> nearest(x, 0.6366197723675814);
  const double quarters = nearest.quarters();
  const double first = multiply_add(quarters, -1.5707963267948966, x);
  const double second = multiply_add(quarters, -6.123233995736766e-17, first);
  return {multiply_add(quarters, 1.4973849048591698e-33, second), nearest.n()};
}

/// 2^e * 2 / pi modulo 4, of which the product with 53 bits that are an integer is known modulo 4
/// too, by 53 digits of 2 / pi at a time: those of a later part are the first ones of a greater
/// exponent.
struct Parts {
  static constexpr int kBits = 53, kFirst = 45 - 52, kCount = 971 - kFirst + 1, kOfEach = 4;
  double values[kCount + (kOfEach - 1) * kBits];
  constexpr Parts() : values() {
    int exponent = kFirst;
    for (double& value : values) value = turn_part(exponent++ - 2, kBits, 2);
  }
};
constexpr Parts kParts;

/// The place in kParts for a number from kNear on; some place for others.
FLAMBEAU_INLINE int64_t place_of(double x) {
  const auto exponent = static_cast<int64_t>(std::bit_cast<uint64_t>(x) >> 52 & 2047);
  const int64_t found = exponent - (1023 + 52 + Parts::kFirst);
  const int64_t place = found < Parts::kCount ? found : Parts::kCount - 1;
  return place > 0 ? place : 0;
}

/// A sum, and what it is rounded by.
struct Sum {
  double high, low;
  FLAMBEAU_INLINE Sum(double a, double b) : high(a + b) {
    const double of_b = high - a;
    low = (a - (high - of_b)) + (b - of_b);
  }
};
struct Product {
  double high, low;
  FLAMBEAU_INLINE Product(double a, double b) : high(a * b), low(multiply_add(a, b, -high)) {}
};

template <Zeros zeros>
FLAMBEAU_INLINE Turned turned_any(double given, const double (&parts)[Parts::kOfEach]) {
  constexpr uint64_t kRest = (uint64_t(1) << 63) + (uint64_t(1) << 52) - 1;
  const uint64_t bits = std::bit_cast<uint64_t>(given) & kRest;
  const double m = std::bit_cast<double>(bits | std::bit_cast<uint64_t>(0x1p52));
  const Product first(m, parts[0]), second(m, parts[1] * 0x1p-53), third(m, parts[2] * 0x1p-106);
  const double fours = __builtin_rint(first.high * 0.25);
  // Exact: all is a multiple of 2^-51, and at most 4.
  const double high = multiply_add(fours, -4., first.high) + first.low;
  const Sum whole(high, second.high);
  const Nearest<zeros> nearest(whole.high, 1);
  const double rest = whole.high - nearest.quarters();
  const Sum a(whole.low, third.high), b(a.high, second.low), found(rest, b.high);
  const double last = multiply_add(m, parts[3] * 0x1p-159, third.low);
  const double quarters = found.high + (found.low + (b.low + a.low + last));
  const double r = multiply_add(quarters, 1.5707963267948966, quarters * 6.123233995736766e-17);
  const Turned near = turned_near<zeros>(given);
  const bool is_near = math::detail::magnitude(given) < kNear;
  const double edge = given - given == 0 ? r : math::detail::kNaN<double>;
  return {is_near ? near.r : edge, is_near ? near.n : nearest.n()};
}

FLAMBEAU_INLINE double negative_if_odd(double x, uint64_t n) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) ^ (n << 63));
}
/// In parts that do not wait for each other.
FLAMBEAU_INLINE double sine(double r) {
  const double z = r * r, w = z * z;
  const double even = polynomial(w, -7.642991473775529e-13, -2.505210687279615e-08,
                                 -0.0001984126984120922, -0.16666666666666666);
  const double odd = polynomial(w, 2.7211747735311023e-15, 1.6058939705422933e-10,
                                2.755731921113726e-06, 0.008333333333333194);
  return multiply_add(r * z, multiply_add(z, odd, even), r);
}

struct Sine {
  static constexpr Zeros zeros = Zeros::even;
  static FLAMBEAU_INLINE double of(double x, Turned t) {
    const double value = negative_if_odd(sine(t.r), t.n);
    return math::detail::magnitude(x) < 0x1p-27 ? x : value;
  }
};
struct Cosine {
  static constexpr Zeros zeros = Zeros::odd;
  static FLAMBEAU_INLINE double of(double, Turned t) { return negative_if_odd(sine(t.r), t.n + 1); }
};

/// By the largest argument.
template <class Function>
struct Wave {
  static constexpr Zeros zeros = Function::zeros;
  template <int count>
  static FLAMBEAU_INLINE void of_all(const double* x, double* result) {
    alignas(64) double beyond_near[count];
#pragma omp simd
    for (int i = 0; i < count; ++i) beyond_near[i] = kNear - math::detail::magnitude(x[i]);
    if (FLAMBEAU_LIKELY(!any_negative<count>(beyond_near))) {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = Function::of(x[i], turned_near<zeros>(x[i]));
      return;
    }
    alignas(64) double parts[Parts::kOfEach][count];
    for (int i = 0; i < count; ++i) {
      const double* const from = kParts.values + place_of(x[i]);
      for (int k = 0; k < Parts::kOfEach; ++k) parts[k][i] = from[k * Parts::kBits];
    }
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      const double own[] = {parts[0][i], parts[1][i], parts[2][i], parts[3][i]};
      result[i] = Function::of(x[i], turned_any<zeros>(x[i], own));
    }
  }
};

}  // namespace

FLAMBEAU_DOUBLES(FLAMBEAU_ONE, sin, Wave<Sine>)
FLAMBEAU_DOUBLES(FLAMBEAU_ONE, cos, Wave<Cosine>)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
