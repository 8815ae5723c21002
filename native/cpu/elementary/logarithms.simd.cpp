#include "cpu/elementary/logarithms.h"

#include "cpu/math.h"

#if defined(FLAMBEAU_LANES_OF) && defined(__AVX512F__)
#include "cpu/elementary/vectors.h"

/// Logarithms of floats whose parts are an instruction each: the vector forms that
/// cpu/vector_functions.h promises.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using math::detail::Base;
using math::detail::Bases;
using math::detail::LogParts;

/// The bits of a result for each kind of number, a NaN first: what is no positive number has no
/// logarithm of its parts.
constexpr int kSpecial = 0x1           // a NaN: itself
                         | 0x20        // that signals: quiet
                         | 0x400       // 0: -infinity
                         | 0x30000     // -infinity: NaN
                         | 0x500000    // infinity: itself
                         | 0x3000000;  // less than 0: NaN

FLAMBEAU_INLINE __m512 log_of_lanes(__m512 x, const Base<float>& base) {
  const __m512 one = _mm512_set1_ps(1);
  const __m512 root = _mm512_set1_ps(2 * std::bit_cast<float>(LogParts<float>::kRoot));
  const __m512 mantissa = _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
  const __m512 exponent = _mm512_maskz_getexp_ps(0xffff, x);
  const __mmask16 is_far = _mm512_cmp_ps_mask(mantissa, root, _CMP_GE_OQ);
  const __m512 near = _mm512_mask_mul_ps(mantissa, is_far, mantissa, _mm512_set1_ps(0.5f));
  const __m512 value =
      math::detail::log_of(_mm512_mask_add_ps(exponent, is_far, exponent, one), near - one, base);
  return _mm512_fixupimm_ps(value, x, _mm512_set1_epi32(kSpecial), 0);
}

template <const Base<float>& base>
struct Log {
  static __m512 of_lanes(__m512 x) { return log_of_lanes(x, base); }
};

/// x / y, to the last bit or so: by an estimate of the reciprocal, as a division takes longer than
/// all of this. Divisors that are 0 or negative are rare, and have estimates that overflow.
FLAMBEAU_INLINE __m512 ratio_of(__m512 x, __m512 y) {
  const __m512 near = _mm512_maskz_rcp14_ps(0xffff, y);
  const __m512 reciprocal =
      _mm512_fmadd_ps(near, _mm512_fnmadd_ps(y, near, _mm512_set1_ps(1)), near);
  const __m512 ratio = x * reciprocal;
  const __m512 better = _mm512_fmadd_ps(_mm512_fnmadd_ps(ratio, y, x), reciprocal, ratio);
  const __mmask16 rare = _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_LE_OQ);
  return __builtin_expect(rare != 0, 0) ? _mm512_mask_div_ps(better, rare, x, y) : better;
}

/// log(x / (1 - x)); near 1/2, where that loses digits, 2 artanh(2x - 1) by its series.
struct Logit {
  static __m512 of_lanes(__m512 x) {
    constexpr float kNear = 0.0625f;  // the term after the last is less than 2^-27 of the sum
    constexpr int kTerms = 6;
    const __m512 one = _mm512_set1_ps(1), apart = _mm512_fmsub_ps(x, _mm512_set1_ps(2), one);
    const __m512 square = apart * apart;
    __m512 series = _mm512_set1_ps(2.0f / (2 * kTerms - 1));
    for (int k = kTerms - 2; k >= 0; --k)
      series =
          _mm512_fmadd_ps(series, square, _mm512_set1_ps(2.0f / static_cast<float>(2 * k + 1)));
    const __m512 far = log_of_lanes(ratio_of(x, one - x), Bases<float>::e);
    const __mmask16 is_near = _mm512_cmp_ps_mask(square, _mm512_set1_ps(kNear), _CMP_LT_OQ);
    return _mm512_mask_mul_ps(far, is_near, apart, series);
  }
};

/// Of narrow vectors as part of a wide one.
template <class Function, class Lanes>
FLAMBEAU_INLINE Lanes lanes(Lanes x) {
  __m512 wide = {};
  memcpy(&wide, &x, sizeof x);
  wide = Function::of_lanes(wide);
  memcpy(&x, &wide, sizeof x);
  return x;
}

}  // namespace

#define FLAMBEAU_LOG(name, Function)                                               \
  extern "C" FLAMBEAU_API float FLAMBEAU_LANES_OF(name, float)(float x) noexcept { \
    return lanes<Function>(_mm_set_ss(x))[0];                                      \
  }                                                                                \
  FLAMBEAU_LANES(name, float, __m128, name##_of_4, "_ZGVbN4v_", lanes<Function>)   \
  FLAMBEAU_LANES(name, float, __m256, name##_of_8, "_ZGVdN8v_", lanes<Function>)   \
  FLAMBEAU_LANES(name, float, __m512, name##_of_16, "_ZGVeN16v_", lanes<Function>)
FLAMBEAU_LOG(log, Log<Bases<float>::e>)
FLAMBEAU_LOG(log2, Log<Bases<float>::two>)
FLAMBEAU_LOG(log10, Log<Bases<float>::ten>)
FLAMBEAU_LOG(logit, Logit)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
#endif
