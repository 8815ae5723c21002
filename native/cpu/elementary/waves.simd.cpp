#include "cpu/elementary/parts.h"

#ifdef FLAMBEAU_LANES_OF
#include "cpu/elementary/turns.h"
#include "cpu/elementary/vectors.h"

/// Sine, cosine and tangent of floats: reduced by quarters of a turn in double, then by minimax
/// polynomials. Within 2 ULP for all floats, tangents within 4.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using math::detail::multiply_add;
using math::detail::polynomial;

/// r + quarter * pi / 2, |r| up to pi / 4 or very little more.
struct Turned {
  float r;
  uint32_t quarter;
};

/// Up to here pi / 2 in three floats leaves 24 bits of any rest: the first product is exact.
constexpr float kNear = 0x1p15f;
/// Up to here a quarter's number is exact, and pi / 2 in two doubles leaves 26 bits of any rest.
constexpr float kFar = 0x1p45f;

FLAMBEAU_INLINE Turned turned_near(float x) {
  const float shifted = multiply_add(x, 0.636619772f, math::detail::kRounder);
  const float whole = shifted - math::detail::kRounder;
  const float first = multiply_add(whole, -1.57079637f, x);
  const float r = multiply_add(whole, 1.71512451e-15f, multiply_add(whole, 4.37113883e-08f, first));
  return {r, std::bit_cast<uint32_t>(shifted)};
}

FLAMBEAU_INLINE Turned turned_far(float given) {
  const double x = given;
  const double shifted = multiply_add(x, 0.6366197723675814, math::detail::kWideRounder);
  const double whole = shifted - math::detail::kWideRounder;
  const double r =
      multiply_add(whole, -6.123233995736766e-17, multiply_add(whole, -1.5707963267948966, x));
  return {static_cast<float>(r), static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted))};
}

/// 2^e * 2 / pi modulo 4 in two parts, so that the product of the first and 24 bits is exact: by
/// the binary digits of 2 / pi, of which the two before the point of the product are the first.
struct Turns {
  static constexpr int kFirst = 20, kCount = 128 - 23 - kFirst;
  double values[2 * kCount];
  constexpr Turns() : values() {
    for (int i = 0; i < kCount; ++i) {
      values[i] = turn_part(kFirst + i - 2, 29, 2);
      values[kCount + i] = turn_part(kFirst + i - 2 + 29, 53, 0x1p-28);
    }
  }
};
constexpr Turns kTurns;

/// The place in kTurns for a number from kFar on; some place for others.
FLAMBEAU_INLINE int32_t place_of(float given) {
  const uint32_t exponent = std::bit_cast<uint32_t>(given) >> 23 & 255;
  const int32_t found = static_cast<int32_t>(exponent) - (127 + 23 + Turns::kFirst);
  const int32_t place = found < Turns::kCount ? found : Turns::kCount - 1;
  return place > 0 ? place : 0;
}

FLAMBEAU_INLINE Turned turned_any(float given, double high, double low) {
  const Turned far = turned_far(given);
  const uint32_t bits = std::bit_cast<uint32_t>(given);
  const double m = static_cast<double>(static_cast<int32_t>((bits & 0x7fffff) | 0x800000));
  const double exact = m * high;
  const double shifted = multiply_add(m, low, exact) + math::detail::kWideRounder;
  const double rest = multiply_add(m, low, exact - (shifted - math::detail::kWideRounder));
  const float size = static_cast<float>(rest * 1.5707963267948966);
  const uint32_t quarter = static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted));
  const uint32_t sign = 0 - (bits >> 31);  // all bits of a negative number
  const float r = std::bit_cast<float>(std::bit_cast<uint32_t>(size) ^ (sign << 31));
  const float edge = given - given == 0 ? r : math::detail::kNaN<float>;
  const bool is_far = math::detail::magnitude(given) < kFar;
  return {is_far ? far.r : edge, is_far ? far.quarter : (quarter ^ sign) - sign};
}

FLAMBEAU_INLINE float sine(float r) {
  const float z = r * r;
  return multiply_add(
      r * z, polynomial(z, 2.71760678e-06f, -0.000198392619f, 0.00833332911f, -0.166666672f), r);
}
FLAMBEAU_INLINE float cosine(float r) {
  const float z = r * r;
  const float p = polynomial(z, 2.44322437e-05f, -0.00138873165f, 0.0416666456f);
  return multiply_add(z * z, p, multiply_add(z, -0.5f, 1.f));
}
FLAMBEAU_INLINE float negative_if(float x, bool condition) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ (condition ? 0x80000000u : 0));
}

struct Sine {
  static FLAMBEAU_INLINE float of(float x, Turned t) {
    const float value = (t.quarter & 1) != 0 ? cosine(t.r) : sine(t.r);
    const float turned = negative_if(value, (t.quarter & 2) != 0);
    return math::detail::magnitude(x) < 0x1p-40f ? x : turned;
  }
};
struct Cosine {
  static FLAMBEAU_INLINE float of(float, Turned t) {
    const float value = (t.quarter & 1) != 0 ? sine(t.r) : cosine(t.r);
    return negative_if(value, ((t.quarter + 1) & 2) != 0);
  }
};
struct Tangent {
  static FLAMBEAU_INLINE float of(float x, Turned t) {
    const bool is_odd = (t.quarter & 1) != 0;
    const float s = sine(t.r), c = cosine(t.r);
    const float value = (is_odd ? -c : s) / (is_odd ? s : c);
    return math::detail::magnitude(x) < 0x1p-40f ? x : value;
  }
};
/// By the largest argument.
template <class Function>
struct Wave {
  template <int count>
  static FLAMBEAU_INLINE void of_all(const float* x, float* result) {
    alignas(64) float beyond_near[count], beyond_far[count];
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      beyond_near[i] = kNear - math::detail::magnitude(x[i]);
      beyond_far[i] = kFar - math::detail::magnitude(x[i]);
    }
    if (FLAMBEAU_LIKELY(!any_negative<count>(beyond_near))) {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = Function::of(x[i], turned_near(x[i]));
    } else if (!any_negative<count>(beyond_far)) {
#pragma omp simd
      for (int i = 0; i < count; ++i) result[i] = Function::of(x[i], turned_far(x[i]));
    } else {
      alignas(64) int32_t place[count];
      alignas(64) double high[count], low[count];
#pragma omp simd
      for (int i = 0; i < count; ++i) place[i] = place_of(x[i]);
      for (int i = 0; i < count; ++i) {
        high[i] = kTurns.values[place[i]];
        low[i] = kTurns.values[Turns::kCount + place[i]];
      }
#pragma omp simd
      for (int i = 0; i < count; ++i)
        result[i] = Function::of(x[i], turned_any(x[i], high[i], low[i]));
    }
  }
};

}  // namespace

FLAMBEAU_FLOATS(FLAMBEAU_ONE, sin, Wave<Sine>)
FLAMBEAU_FLOATS(FLAMBEAU_ONE, cos, Wave<Cosine>)
FLAMBEAU_FLOATS(FLAMBEAU_ONE, tan, Wave<Tangent>)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
