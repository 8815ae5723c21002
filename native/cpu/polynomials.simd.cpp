#include "cpu/math.h"

#include "core/math/special.h"

#ifdef FLAMBEAU_LANES_OF
#include "cpu/lanes.h"

/// Orthogonal polynomials: the vector forms that cpu/vector_functions.h promises. All steps are
/// taken to the largest degree of a vector; numbers of lesser degrees stay where they are.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

#if defined(__AVX512F__)
typedef __m512d Doubles;
FLAMBEAU_INLINE bool all_less(Doubles a, Doubles b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ) == 0xff;
}
FLAMBEAU_INLINE bool all_equal(Doubles a, Doubles b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ) == 0xff;
}
#else
typedef __m256d Doubles;
FLAMBEAU_INLINE bool all_less(Doubles a, Doubles b) {
  return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)) == 0xf;
}
FLAMBEAU_INLINE bool all_equal(Doubles a, Doubles b) {
  return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)) == 0xf;
}
#endif
constexpr int kDoubles = sizeof(Doubles) / sizeof(double);

/// Of degrees whose whole part is from 0 to kFewSteps - 1; may be NaN where the result is infinite.
template <int64_t kind>
Doubles low_polynomials(Doubles x, Doubles degrees) {
  const double first = degrees[0];
  const Doubles one = Doubles{} + 1;
  if (all_equal(degrees, Doubles{} + first))
    return first < 1 ? one : math::detail::low_polynomial(kind, x, static_cast<int>(first));
  static constexpr math::detail::Inverses inverses = math::detail::list_inverses();
  Doubles before = one, now = math::detail::first_polynomial(kind, x);
  for (int k = 1; !all_less(degrees, Doubles{} + (k + 1)); ++k) {
    const Doubles next = math::detail::next_polynomial(kind, k, inverses.of[k + 1], x, now, before);
    const auto goes = degrees >= Doubles{} + (k + 1);
    before = goes ? now : before;
    now = goes ? next : now;
  }
  return degrees < one ? one : now;
}

struct LowPolynomials {
  Doubles (*of[math::detail::kLegendre + 1])(Doubles, Doubles);
};
template <int64_t... kinds>
constexpr LowPolynomials list_low_polynomials(std::integer_sequence<int64_t, kinds...>) {
  return {{low_polynomials<kinds>...}};
}
constexpr LowPolynomials kLowPolynomials =
    list_low_polynomials(std::make_integer_sequence<int64_t, math::detail::kLegendre + 1>());

/// Scalars take what is rare.
FLAMBEAU_INLINE Doubles polynomials(Doubles x, Doubles degrees, int64_t kind) {
  const Doubles most = Doubles{} + math::detail::kFewSteps;
  if (FLAMBEAU_LIKELY(all_less(Doubles{} - 1, degrees) && all_less(degrees, most))) {
    const Doubles found = kLowPolynomials.of[kind](x, degrees);
    if (FLAMBEAU_LIKELY(all_equal(found - found, Doubles{}))) return found;
  }
  for (int i = 0; i < kDoubles; ++i)
    x[i] = math::orthogonal_polynomial<double>(kind, x[i], degrees[i]);
  return x;
}

/// `kind` is the same in all lanes.
FLAMBEAU_INLINE Doubles polynomials_of(Doubles x, Doubles degrees, Doubles kind) {
  return polynomials(x, degrees, static_cast<int64_t>(kind[0]));
}
#if defined(__AVX512F__)
FLAMBEAU_INLINE __m256 polynomials_of(__m256 x, __m256 degrees, __m256 kind) {
  const auto known = static_cast<int64_t>(kind[0]);
  return _mm512_maskz_cvtpd_ps(0xff, polynomials(_mm512_maskz_cvtps_pd(0xff, x),
                                                 _mm512_maskz_cvtps_pd(0xff, degrees), known));
}
template <int half>
FLAMBEAU_INLINE __m256 half_of(__m512 all) {
  return _mm512_maskz_extractf32x8_ps(0xff, all, half);
}
FLAMBEAU_INLINE __m512 polynomials_of(__m512 x, __m512 degrees, __m512 kind) {
  const __m256 known = half_of<0>(kind);
  const __m256 first = polynomials_of(half_of<0>(x), half_of<0>(degrees), known);
  const __m256 second = polynomials_of(half_of<1>(x), half_of<1>(degrees), known);
  return _mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(first), second, 1);
}
#else
FLAMBEAU_INLINE __m128 polynomials_of(__m128 x, __m128 degrees, __m128 kind) {
  const auto known = static_cast<int64_t>(kind[0]);
  return _mm256_cvtpd_ps(polynomials(_mm256_cvtps_pd(x), _mm256_cvtps_pd(degrees), known));
}
template <int half>
FLAMBEAU_INLINE __m128 half_of(__m256 all) {
  return _mm256_extractf128_ps(all, half);
}
FLAMBEAU_INLINE __m256 polynomials_of(__m256 x, __m256 degrees, __m256 kind) {
  const __m128 known = half_of<0>(kind);
  const __m128 first = polynomials_of(half_of<0>(x), half_of<0>(degrees), known);
  return _mm256_set_m128(polynomials_of(half_of<1>(x), half_of<1>(degrees), known), first);
}
#endif
/// Narrow vectors are parts of wide ones.
template <class Lanes>
FLAMBEAU_INLINE Lanes polynomials_of(Lanes x, Lanes degrees, Lanes kind) {
  constexpr int count = sizeof(Lanes) / sizeof(kind[0]);
  Doubles all_x, all_degrees;
  for (int i = 0; i < kDoubles; ++i) {
    all_x[i] = x[i % count];
    all_degrees[i] = degrees[i % count];
  }
  const Doubles found = polynomials(all_x, all_degrees, static_cast<int64_t>(kind[0]));
  using T = std::remove_cvref_t<decltype(kind[0])>;
  for (int i = 0; i < count; ++i) x[i] = static_cast<T>(found[i]);
  return x;
}

}  // namespace

extern "C" FLAMBEAU_API double FLAMBEAU_LANES_OF(polynomial, double)(double x, double degree,
                                                                     double kind) noexcept {
  return math::orthogonal_polynomial<double>(static_cast<int64_t>(kind), x, degree);
}
extern "C" FLAMBEAU_API float FLAMBEAU_LANES_OF(polynomial, float)(float x, float degree,
                                                                   float kind) noexcept {
  return math::orthogonal_polynomial<float>(static_cast<int64_t>(kind), x, degree);
}

#define FLAMBEAU_POLYNOMIALS(T, Lanes, width, count, name, _)                         \
  extern "C" FLAMBEAU_API Lanes name##_of_##width##_##T(                              \
      Lanes x, Lanes degree,                                                          \
      Lanes kind) noexcept __asm__("_ZGV" #width                                      \
                                   "vvv_" FLAMBEAU_TEXT(FLAMBEAU_LANES_OF(name, T))); \
  extern "C" FLAMBEAU_API Lanes name##_of_##width##_##T(Lanes x, Lanes degree,        \
                                                        Lanes kind) noexcept {        \
    return polynomials_of(x, degree, kind);                                           \
  }
FLAMBEAU_WIDTHS(FLAMBEAU_POLYNOMIALS, polynomial, )

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
