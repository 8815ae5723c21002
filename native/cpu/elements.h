#pragma once

/// Moving elements between memory of any stride and dense buffers in compute types.

#include <algorithm>
#include <cstring>

#include "core/types/half.h"
#include "cpu/loops.h"
#include "cpu/short_rows.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace flambeau::cpu::FLAMBEAU_ISA {

inline void load_dense(float* to, const float16* from, int64_t count) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(to + i,
                     _mm512_maskz_cvtph_ps(
                         0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
#elif defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < count; ++i) to[i] = float16::to_float(from[i].bits);
}

inline void store_dense(float16* to, const float* from, int64_t count) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i),
                                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) to[i].bits = float16::from_float(from[i]);
}

inline void load_dense(float* __restrict to, const bfloat16* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = bfloat16::to_float(from[i].bits);
}
inline void store_dense(bfloat16* __restrict to, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i].bits = bfloat16::from_float(from[i]);
}

namespace detail {

struct Bytes16 {
  uint64_t low, high;
};

template <class T>
void load_strided(char* to, const char* from, int64_t stride, int64_t count) {
  T* out = reinterpret_cast<T*>(to);
  if (stride == 0) {
    const T value = *reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) out[i] = value;
    return;
  }
  for (int64_t i = 0; i < count; ++i, from += stride) out[i] = *reinterpret_cast<const T*>(from);
}
template <class T>
void store_strided(char* to, int64_t stride, const char* from, int64_t count) {
  const T* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i, to += stride) *reinterpret_cast<T*>(to) = in[i];
}

/// to[0, count), dense in the compute type, from elements `stride` bytes apart.
inline void load_run(char* to, const char* from, int64_t stride, int64_t count,
                     const OperandKind& kind) {
  if (kind.conversion == Conversion::from_float16) {
    float* out = reinterpret_cast<float*>(to);
    if (stride == 2) return load_dense(out, reinterpret_cast<const float16*>(from), count);
    for (int64_t i = 0; i < count; ++i, from += stride)
      out[i] = float16::to_float(*reinterpret_cast<const uint16_t*>(from));
    return;
  }
  if (kind.conversion == Conversion::from_bfloat16) {
    float* out = reinterpret_cast<float*>(to);
    if (stride == 2) return load_dense(out, reinterpret_cast<const bfloat16*>(from), count);
    for (int64_t i = 0; i < count; ++i, from += stride)
      out[i] = bfloat16::to_float(*reinterpret_cast<const uint16_t*>(from));
    return;
  }
  if (stride == kind.bytes) {
    memcpy(to, from, static_cast<size_t>(count * kind.bytes));
    return;
  }
  switch (kind.bytes) {
    case 1:
      return load_strided<uint8_t>(to, from, stride, count);
    case 2:
      return load_strided<uint16_t>(to, from, stride, count);
    case 4:
      return load_strided<uint32_t>(to, from, stride, count);
    case 8:
      return load_strided<uint64_t>(to, from, stride, count);
    default:
      return load_strided<Bytes16>(to, from, stride, count);
  }
}

/// The way back; halves are rounded to nearest even.
inline void store_run(char* to, int64_t stride, const char* from, int64_t count,
                      const OperandKind& kind) {
  if (kind.conversion == Conversion::from_float16) {
    const float* in = reinterpret_cast<const float*>(from);
    if (stride == 2) return store_dense(reinterpret_cast<float16*>(to), in, count);
    for (int64_t i = 0; i < count; ++i, to += stride)
      *reinterpret_cast<uint16_t*>(to) = float16::from_float(in[i]);
    return;
  }
  if (kind.conversion == Conversion::from_bfloat16) {
    const float* in = reinterpret_cast<const float*>(from);
    if (stride == 2) return store_dense(reinterpret_cast<bfloat16*>(to), in, count);
    for (int64_t i = 0; i < count; ++i, to += stride)
      *reinterpret_cast<uint16_t*>(to) = bfloat16::from_float(in[i]);
    return;
  }
  if (stride == kind.bytes) {
    memcpy(to, from, static_cast<size_t>(count * kind.bytes));
    return;
  }
  switch (kind.bytes) {
    case 1:
      return store_strided<uint8_t>(to, stride, from, count);
    case 2:
      return store_strided<uint16_t>(to, stride, from, count);
    case 4:
      return store_strided<uint32_t>(to, stride, from, count);
    case 8:
      return store_strided<uint64_t>(to, stride, from, count);
    default:
      return store_strided<Bytes16>(to, stride, from, count);
  }
}

/// A position in merged dims, innermost first.
struct Position {
  static constexpr int kMaxRank = 16;
  int rank = 0;
  int64_t extent[kMaxRank], index[kMaxRank];

  void seek(int64_t element) {
    for (int d = 0; d < rank; ++d) {
      index[d] = element % extent[d];
      element /= extent[d];
    }
  }
  void advance(int64_t count) {
    if (rank == 0) return;
    index[0] += count;
    for (int d = 0; d + 1 < rank && index[d] >= extent[d]; ++d) {
      index[d + 1] += index[d] / extent[d];
      index[d] %= extent[d];
    }
  }
  /// Elements until the end of the innermost run.
  int64_t row_left() const { return rank == 0 ? 1 : extent[0] - index[0]; }
  int64_t offset(const int64_t* strides) const {
    int64_t bytes = 0;
    for (int d = 0; d < rank; ++d) bytes += index[d] * strides[d];
    return bytes;
  }
};

/// Calls move(row, bytes from an element to the next, dense, length) for the rows of elements in
/// row-major order of `position`'s dims: for rows too short to be worth a call of a formula each.
/// Whole rows of the second dim are walked without recomputing the position.
template <class T, class Move>
FLAMBEAU_INLINE void walk_rows(char* base, Position position, const int64_t* strides, int64_t count,
                               T* dense, const Move& move) {
  const int64_t width = position.extent[0], step = strides[0];
  while (count > 0) {
    char* row = base + position.offset(strides);
    int64_t rows = 1, length = std::min(count, position.row_left()), row_step = 0;
    if (length == width && position.rank > 1) {
      rows = std::min(count / width, position.extent[1] - position.index[1]);
      row_step = strides[1];
    }
    for (int64_t r = 0; r < rows; ++r, row += row_step, dense += length)
      move(row, step, dense, length);
    count -= rows * length;
    position.advance(rows * length);
  }
}

template <class T>
[[gnu::noinline]] void gather_rows(char* to, const char* base, const Position& position,
                                   const int64_t* strides, int64_t count) {
  walk_rows(const_cast<char*>(base), position, strides, count, reinterpret_cast<T*>(to),
            [](const char* row, int64_t step, T* dense, int64_t length) {
              if (step == 0) {
                fill_row(dense, *reinterpret_cast<const T*>(row), length);
              } else if (step == sizeof(T)) {
                copy_row(dense, reinterpret_cast<const T*>(row), length);
              } else {
                for (int64_t c = 0; c < length; ++c, row += step)
                  dense[c] = *reinterpret_cast<const T*>(row);
              }
            });
}
template <class T>
[[gnu::noinline]] void scatter_rows(char* base, const Position& position, const int64_t* strides,
                                    const char* from, int64_t count) {
  walk_rows(base, position, strides, count, reinterpret_cast<T*>(const_cast<char*>(from)),
            [](char* row, int64_t step, const T* dense, int64_t length) {
              if (step == sizeof(T)) {
                copy_row(reinterpret_cast<T*>(row), dense, length);
              } else {
                for (int64_t c = 0; c < length; ++c, row += step)
                  *reinterpret_cast<T*>(row) = dense[c];
              }
            });
}

/// Elements of a conversion's scratch buffer; the most that a gather or a scatter takes at once.
inline constexpr int64_t kMostConverted = 1024;

/// to[0, count), dense in the compute type, from `count` elements that begin at `position`.
inline void gather(char* to, const char* base, const Position& position, const int64_t* strides,
                   int64_t count, const OperandKind& kind) {
  if (kind.conversion != Conversion::none) {
    alignas(64) char halves[2 * kMostConverted] = {};
    gather_rows<uint16_t>(halves, base, position, strides, count);
    return load_run(to, halves, 2, count, kind);
  }
  switch (kind.bytes) {
    case 1:
      return gather_rows<uint8_t>(to, base, position, strides, count);
    case 2:
      return gather_rows<uint16_t>(to, base, position, strides, count);
    case 4:
      return gather_rows<uint32_t>(to, base, position, strides, count);
    case 8:
      return gather_rows<uint64_t>(to, base, position, strides, count);
    default:
      return gather_rows<Bytes16>(to, base, position, strides, count);
  }
}

inline void scatter(char* base, const Position& position, const int64_t* strides, const char* from,
                    int64_t count, const OperandKind& kind) {
  if (kind.conversion != Conversion::none) {
    alignas(64) char halves[2 * kMostConverted] = {};
    store_run(halves, 2, from, count, kind);
    return scatter_rows<uint16_t>(base, position, strides, halves, count);
  }
  switch (kind.bytes) {
    case 1:
      return scatter_rows<uint8_t>(base, position, strides, from, count);
    case 2:
      return scatter_rows<uint16_t>(base, position, strides, from, count);
    case 4:
      return scatter_rows<uint32_t>(base, position, strides, from, count);
    case 8:
      return scatter_rows<uint64_t>(base, position, strides, from, count);
    default:
      return scatter_rows<Bytes16>(base, position, strides, from, count);
  }
}

}  // namespace detail
}  // namespace flambeau::cpu::FLAMBEAU_ISA
