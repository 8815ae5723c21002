#include "core/files/crc32.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <array>
#include <cstring>

#include "core/backends/instruction_set.h"

namespace flambeau {

namespace {

// Polynomials over two elements, modulo that of CRC-32, bit 31 for x^0.
constexpr uint32_t kModulus = 0xEDB88320, kOne = uint32_t{1} << 31;

constexpr uint32_t times_x(uint32_t p) { return (p >> 1) ^ (p & 1 ? kModulus : 0); }

constexpr uint32_t times(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = times_x(b);
  }
  return product;
}

constexpr uint32_t power_of_x(uint64_t exponent) {
  uint32_t result = kOne, square = kOne >> 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = times(result, square);
    square = times(square, square);
  }
  return result;
}

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// [k][b]: what the byte b leaves when k bytes follow it.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

/// `state` is the inverted CRC, here and below.
uint32_t by_tables(uint32_t state, const unsigned char* data, size_t bytes) {
  for (; bytes >= 8; data += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    word ^= state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; bytes > 0; ++data, --bytes) state = (state >> 8) ^ kTables[0][(state ^ *data) & 255];
  return state;
}

#if defined(__x86_64__)

#define FLAMBEAU_CARRYLESS __attribute__((target("pclmul,sse4.1")))

/// What moves 128 bits over kDistance bits: the factors of their first and second half. Products of
/// reflected factors come out one place low.
template <uint64_t kDistance>
FLAMBEAU_CARRYLESS inline __m128i fold_factors() {
  constexpr uint64_t kFirst = power_of_x(kDistance + 32), kSecond = power_of_x(kDistance - 32);
  return _mm_set_epi64x(kSecond << 1, kFirst << 1);
}

FLAMBEAU_CARRYLESS inline __m128i folded(__m128i value, __m128i factors, __m128i next) {
  const __m128i first = _mm_clmulepi64_si128(value, factors, 0x00);
  const __m128i second = _mm_clmulepi64_si128(value, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

FLAMBEAU_CARRYLESS inline __m128i load(const unsigned char* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

/// Of at least 64 bytes: they are folded into 16 that have the same remainder.
FLAMBEAU_CARRYLESS uint32_t by_folding(uint32_t state, const unsigned char* data, size_t bytes) {
  __m128i parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = load(data + 16 * i);
  parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128(static_cast<int>(state)));
  const __m128i far = fold_factors<512>(), near = fold_factors<128>();
  for (data += 64, bytes -= 64; bytes >= 64; data += 64, bytes -= 64) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) parts[i] = folded(parts[i], far, load(data + 16 * i));
  }
  __m128i all = parts[0];
  for (int i = 1; i < 4; ++i) all = folded(all, near, parts[i]);
  for (; bytes >= 16; data += 16, bytes -= 16) all = folded(all, near, load(data));
  alignas(16) unsigned char rest[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(rest), all);
  return by_tables(by_tables(0, rest, sizeof rest), data, bytes);
}

#define FLAMBEAU_WIDE_CARRYLESS __attribute__((target("vpclmulqdq,pclmul,sse4.1,avx512f,avx512vl")))

/// Of at least kWide bytes: the same, 64 bytes in place of 16.
constexpr size_t kWide = 256;
FLAMBEAU_WIDE_CARRYLESS uint32_t by_wide_folding(uint32_t state, const unsigned char* data,
                                                 size_t bytes) {
  const __m512i far = _mm512_maskz_broadcast_i32x4(0xFFFF, fold_factors<8 * kWide>());
  __m512i parts[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) parts[i] = _mm512_loadu_si512(data + 64 * i);
  const __m128i first = _mm_cvtsi32_si128(static_cast<int>(state));
  parts[0] = _mm512_xor_si512(parts[0], _mm512_zextsi128_si512(first));
  for (data += kWide, bytes -= kWide; bytes >= kWide; data += kWide, bytes -= kWide) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i low = _mm512_clmulepi64_epi128(parts[i], far, 0x00);
      const __m512i high = _mm512_clmulepi64_epi128(parts[i], far, 0x11);
      const __m512i next = _mm512_loadu_si512(data + 64 * i);
      parts[i] = _mm512_xor_si512(_mm512_xor_si512(low, high), next);
    }
  }
  alignas(64) unsigned char rest[kWide];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) _mm512_store_si512(rest + 64 * i, parts[i]);
  state = by_folding(0, rest, kWide);
  return bytes >= 64 ? by_folding(state, data, bytes) : by_tables(state, data, bytes);
}

/// Bytes that are folded at a time; 0: this processor cannot.
size_t fold_width() {
  static const size_t result = [] {
    if (instruction_set() == InstructionSet::baseline || !__builtin_cpu_supports("pclmul")) {
      return size_t{0};
    }
    const bool wide =
        instruction_set() == InstructionSet::avx512 && __builtin_cpu_supports("vpclmulqdq");
    return size_t{wide ? 64u : 16u};
  }();
  return result;
}

uint32_t best(uint32_t state, const unsigned char* data, size_t bytes) {
  const size_t width = fold_width();
  if (width == 64 && bytes >= kWide) return by_wide_folding(state, data, bytes);
  if (width > 0 && bytes >= 64) return by_folding(state, data, bytes);
  return by_tables(state, data, bytes);
}

#else

uint32_t best(uint32_t state, const unsigned char* data, size_t bytes) {
  return by_tables(state, data, bytes);
}

#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(data);
  return ~best(~crc, first, bytes);
}

uint32_t crc32_combined(uint32_t first, uint32_t second, size_t second_bytes) {
  return times(power_of_x(uint64_t{8} * second_bytes), first) ^ second;
}

}  // namespace flambeau
