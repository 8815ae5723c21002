#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/types/half.h"
#include "cpu/linalg/gemm_kernel.h"
#include "cpu/linalg/vector.h"

// Lines of factors, read in the form in which they are multiplied. Include only from *.simd.cpp
// files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// As many halves as a vector has floats.
typedef uint16_t HalfVector __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));
inline HalfVector load_halves(const void* source) {
  return *static_cast<const HalfVector*>(source);
}
/// The same with zeros between them; and back. (Compilers make more instructions of conversions.)
inline Vector<uint32_t> spread_halves(HalfVector halves) {
#if defined(__AVX512F__)
  return (Vector<uint32_t>)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)halves);
#elif defined(__AVX2__)
  return (Vector<uint32_t>)_mm256_cvtepu16_epi32((__m128i)halves);
#else
  return __builtin_convertvector(halves, Vector<uint32_t>);
#endif
}
inline HalfVector low_halves(Vector<uint32_t> values) {
#if defined(__AVX512F__)
  return (HalfVector)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)values);
#else
  return __builtin_convertvector(values, HalfVector);
#endif
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/// Halves of some lanes; the others are 0.
inline HalfVector load_halves(__mmask16 lanes, const void* source) {
  return (HalfVector)_mm256_maskz_loadu_epi16(lanes, source);
}
#endif

/// Two rows of halves become pairs, of the columns from `first` on that fill a vector: a
/// permutation of both rows, which may have twice as many columns.
template <size_t first = 0, class Halves>
[[gnu::always_inline]] inline Vector<Bfloat16Pair> pair_rows(Halves low, Halves high) {
  constexpr size_t columns = sizeof(Halves) / sizeof(uint16_t);
  const auto paired = [&]<size_t... i>(std::index_sequence<i...>) {
    return __builtin_shufflevector(low, high, (first + i / 2 + i % 2 * columns)...);
  };
  return (Vector<Bfloat16Pair>)paired(std::make_index_sequence<2 * kLanes<Bfloat16Pair>>());
}

/// Floats, rounded to the nearest half, ties to even; NaN stays NaN.
template <class T>
HalfVector narrowed(Vector<float> value) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    const Vector<uint32_t> bits = (Vector<uint32_t>)value;
    const Vector<uint32_t> rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const Vector<uint32_t> quiet = bits >> 16 | 0x40;
    return low_halves(value == value ? rounded : quiet);
  } else {
#if defined(__AVX512F__)
    return (HalfVector)_mm512_maskz_cvtps_ph(0xffff, (__m512)value, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
    return (HalfVector)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
#else
    HalfVector narrow;
    for (int i = 0; i < kLanes<float>; ++i)
      narrow[i] = std::bit_cast<uint16_t>(static_cast<T>(value[i]));
    return narrow;
#endif
  }
}

/// Halves as floats: an element is one step of the depth.
template <class T>
struct Widened {
  using Element = T;
  using Packed = float;
  static constexpr int64_t kSteps = 1;

  static Vector<float> widen(const T* from) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      return (Vector<float>)(spread_halves(load_halves(from)) << 16);
    } else {
#if defined(__AVX512F__)
      return (Vector<float>)_mm512_maskz_cvtph_ps(0xffff, (__m256i)load_halves(from));
#elif defined(__F16C__)
      return (Vector<float>)_mm256_cvtph_ps((__m128i)load_halves(from));
#else
      Vector<float> wide;
      for (int i = 0; i < kLanes<float>; ++i) wide[i] = static_cast<float>(from[i]);
      return wide;
#endif
    }
  }
  /// The next steps of one line.
  static Vector<float> along(const T* line) { return widen(line); }
  /// One step of neighbouring lines.
  static Vector<float> across(const T* row, int64_t, bool) { return widen(row); }
  /// Sums of products, and any numbers.
  static HalfVector narrow(Vector<float> sums) { return narrowed<T>(sums); }
  static HalfVector narrow_any(Vector<float> values) { return narrowed<T>(values); }
};

/// Pairs of bfloat16 that follow each other along the depth: an element is two steps.
struct Paired {
  using Element = bfloat16;
  using Packed = Bfloat16Pair;
  static constexpr int64_t kSteps = 2;

  static Vector<Packed> along(const Element* line) {
    typedef Packed Pairs __attribute__((vector_size(kVectorBytes), aligned(2), may_alias));
    return *reinterpret_cast<const Pairs*>(line);
  }
  static Vector<Packed> across(const Element* row, int64_t step, bool is_pair) {
    return pair_rows(load_halves(row), is_pair ? load_halves(row + step) : HalfVector{});
  }
  [[gnu::always_inline]] static HalfVector narrow(Vector<float> sums) {
#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
    return (HalfVector)_mm512_cvtneps_pbh((__m512)sums);  // they are never subnormal
#else
    return narrowed<Element>(sums);
#endif
  }
  /// The instruction has 0 for subnormal numbers, which are rare.
  [[gnu::always_inline]] static HalfVector narrow_any(Vector<float> values) {
#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
    constexpr int kSubnormal = 0x20;
    if (FLAMBEAU_LIKELY(_mm512_fpclass_ps_mask((__m512)values, kSubnormal) == 0))
      return (HalfVector)_mm512_cvtneps_pbh((__m512)values);
#endif
    return narrowed<Element>(values);
  }
};

/// Numbers as they are.
template <class T>
struct Unchanged {
  using Element = T;
  using Packed = T;
  static constexpr int64_t kSteps = 1;
  static Vector<T> along(const T* line) { return load(line); }
};

/// Step p of line i at data[i * line + p * step].
template <class T>
struct StridedLines {
  const T* data;
  int64_t line, step;
  int64_t count, depth;
};

/// The next vector of elements of a line of which `left` steps are left; what is missing is 0.
template <class Form>
Vector<typename Form::Packed> elements_along(const typename Form::Element* line, int64_t left) {
  constexpr int64_t steps = kLanes<typename Form::Packed> * Form::kSteps;
  if (left >= steps) return Form::along(line);
  typename Form::Element rest[static_cast<size_t>(steps)] = {};
  std::copy_n(line, std::max<int64_t>(left, 0), rest);
  return Form::along(rest);
}

/// The vector of elements of line i from step `from` on, whatever its strides.
template <class Form>
Vector<typename Form::Packed> elements_of_line(const StridedLines<typename Form::Element>& lines,
                                               int64_t i, int64_t from) {
  constexpr int64_t steps = kLanes<typename Form::Packed> * Form::kSteps;
  const int64_t left = lines.depth - from;
  const typename Form::Element* const data = lines.data + i * lines.line + from * lines.step;
  if (lines.step == 1) return elements_along<Form>(data, left);
  typename Form::Element line[static_cast<size_t>(steps)] = {};
  for (int64_t p = 0; p < std::min(left, steps); ++p) line[p] = data[p * lines.step];
  return Form::along(line);
}

/// As many elements of as many lines as a vector holds, from line `first` and step `from` on;
/// vector q of `square` holds element q of all lines, or `by_line` the elements of line q.
template <class Form>
[[gnu::always_inline]] inline void read_square(
    const StridedLines<typename Form::Element>& lines, int64_t first, int64_t from, bool by_line,
    Vector<typename Form::Packed> (&square)[kLanes<float>]) {
  using T = typename Form::Element;
  using Packed = typename Form::Packed;
  constexpr int64_t lanes = kLanes<float>, steps = Form::kSteps;
  const int64_t count = std::min(lanes, lines.count - first), left = lines.depth - from;
  const T* const data = lines.data + first * lines.line + from * lines.step;
  const bool is_whole = count == lanes && left >= lanes * steps;
  if (is_whole && lines.step == 1) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i) square[i] = Form::along(data + i * lines.line);
    if (!by_line) transpose_square<Packed>(square);
    return;
  }
  if (is_whole && lines.line == 1) {
#pragma GCC unroll 16
    for (int64_t q = 0; q < lanes; ++q)
      square[q] = Form::across(data + q * steps * lines.step, lines.step, true);
    if (by_line) transpose_square<Packed>(square);
    return;
  }
  if (lines.line == 1 && count == lanes) {
    for (int64_t q = 0; q < lanes; ++q)
      square[q] = q * steps < left ? Form::across(data + q * steps * lines.step, lines.step,
                                                  q * steps + 1 < left)
                                   : Vector<Packed>{};
    if (by_line) transpose_square<Packed>(square);
    return;
  }
  for (int64_t i = 0; i < lanes; ++i)
    square[i] = i < count ? elements_of_line<Form>(lines, first + i, from) : Vector<Packed>{};
  if (!by_line) transpose_square<Packed>(square);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
