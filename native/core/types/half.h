#pragma once

#include <cstdint>
#include <cstring>

#include "core/base/macros.h"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace flambeau {

/// IEEE 754 binary16 in memory; arithmetic happens in float32.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  FLAMBEAU_HOST_DEVICE explicit float16(float value) : bits(from_float(value)) {}
  FLAMBEAU_HOST_DEVICE operator float() const { return to_float(bits); }
  static FLAMBEAU_HOST_DEVICE uint16_t from_float(float value);
  static FLAMBEAU_HOST_DEVICE float to_float(uint16_t bits);
};

/// The upper 16 bits of a binary32; arithmetic happens in float32.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  FLAMBEAU_HOST_DEVICE explicit bfloat16(float value) : bits(from_float(value)) {}
  FLAMBEAU_HOST_DEVICE operator float() const { return to_float(bits); }
  static FLAMBEAU_HOST_DEVICE uint16_t from_float(float value);
  static FLAMBEAU_HOST_DEVICE float to_float(uint16_t bits);
};

namespace detail {
FLAMBEAU_HOST_DEVICE inline uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
FLAMBEAU_HOST_DEVICE inline float bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
}  // namespace detail

/// Rounds to nearest even; a NaN stays a (quiet) NaN.
FLAMBEAU_HOST_DEVICE inline uint16_t bfloat16::from_float(float value) {
  const uint32_t bits = detail::float_bits(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>(value != value ? nan : rounded);
}
FLAMBEAU_HOST_DEVICE inline float bfloat16::to_float(uint16_t bits) {
  return detail::bits_float(static_cast<uint32_t>(bits) << 16);
}

FLAMBEAU_HOST_DEVICE inline uint16_t float16::from_float(float value) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#elif defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__aarch64__) && !defined(__CUDACC__)
  const __fp16 half = static_cast<__fp16>(value);
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
#else
  const uint32_t bits = detail::float_bits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 aligns the mantissa so that the hardware rounds to nearest even.
    const float shifted = detail::bits_float(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (detail::float_bits(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return static_cast<uint16_t>(sign | (rounded >> 13));
#endif
}
FLAMBEAU_HOST_DEVICE inline float float16::to_float(uint16_t bits) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(bits));
#elif defined(__F16C__)
  return _cvtsh_ss(bits);
#elif defined(__aarch64__) && !defined(__CUDACC__)
  __fp16 half;
  memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
#else
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return detail::bits_float(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  // The exponent bias is restored by a multiplication, which also normalises subnormals.
  const float scaled = detail::bits_float(magnitude << 13) * 0x1p112f;
  return detail::bits_float(sign | detail::float_bits(scaled));
#endif
}

}  // namespace flambeau
