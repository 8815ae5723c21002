#pragma once

#include "cpu/linalg/tile.h"

// Products of complex matrices in tiles of real sums. A row of complex numbers is one of real
// numbers, twice as long: b is read as such, and each row of a is two, its real and its imaginary
// parts. Of the two rows of sums, the second is turned by i and added to the first. Include only
// from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Rows of sums that make one of numbers, and rows of numbers in a tile.
template <class T>
inline constexpr int64_t kParts = 1;
template <class T>
inline constexpr int64_t kParts<complex<T>> = 2;
template <class T>
inline constexpr int64_t kRows = kTileRows / kParts<T>;

template <class T>
struct StridedRows<complex<T>> {
  const complex<T>* data;
  int64_t row, column;
  T at(int i) const { return parts(data + i / 2 * row)[i % 2]; }
  void advance() { data += column; }
};

template <class T>
struct PackedRows<complex<T>> {
  const complex<T>* data;
  T at(int i) const { return parts(data)[i]; }
  void advance() { data += kRows<complex<T>>; }
};

template <class T>
struct SteppedLines<complex<T>> {
  const complex<T>* data;
  int64_t step;
  const T* line() const { return parts(data); }
  void advance() { data += step; }
};

/// Each number times i.
template <class T>
[[gnu::always_inline]] inline Vector<T> turned(Vector<T> numbers) {
  typedef typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type Index;
  Index swapped;
  Vector<T> sign;
  for (int i = 0; i < kLanes<T>; ++i) {
    swapped[i] = i ^ 1;
    sign[i] = i % 2 ? T(1) : T(-1);
  }
  return __builtin_shuffle(numbers, swapped) * sign;
}

template <class T>
[[gnu::always_inline]] inline Vector<T> times(Vector<T> numbers, complex<T> factor) {
  const Vector<T> real = numbers * splat(factor.re);
  // Of infinite numbers, no part may meet a zero that a real factor has not.
  return factor.im == T(0) ? real : real + turned<T>(numbers) * splat(factor.im);
}

/// Columns count parts of numbers.
template <class T>
struct Epilogue<complex<T>> {
  complex<T>* c;
  int64_t ldc;
  complex<T> alpha, beta;
  const complex<T>* bias;

  bool reads() const { return beta != complex<T>(0); }
  const T* at(int i, int j) const { return parts(c + i * ldc) + j; }
  /// `first`, `second`: sums of products with the real and with the imaginary parts of a.
  [[gnu::always_inline]] void write(int i, int j, Vector<T> first, Vector<T> second,
                                    const Mask<T>* mask) const {
    const auto from = [&](const T* place) { return mask ? mask->load(place) : load(place); };
    T* const to = parts(c + i * ldc) + j;
    Vector<T> value = first + turned<T>(second);
    if (alpha != complex<T>(1)) value = times(value, alpha);
    if (reads()) value += times(from(to), beta);
    if (bias) value += from(parts(bias) + j);
    if (mask)
      mask->store(to, value);
    else
      store(to, value);
  }
};
template <class T>
inline constexpr int kSumRows<Epilogue<complex<T>>> = 2;

/// At least `least` and at most kRows rows, columns <= kTileColumns, both of complex numbers.
template <int least = 1, class T, class Rows, class Lines>
inline void run_tile(int64_t rows, int64_t columns, int64_t depth, const Rows& a, const Lines& b,
                     const Epilogue<complex<T>>& out) {
  const int64_t vectors = (2 * columns + kLanes<T> - 1) / kLanes<T>;
  const int64_t last = 2 * columns - (vectors - 1) * kLanes<T>;
  const int64_t index = (rows - least) * 4 + (vectors - 1) * 2 + (last != kLanes<T>);
  constexpr auto& functions = Tiles<T, Rows, Lines, Epilogue<complex<T>>, least>::functions;
  functions[static_cast<size_t>(index)](depth, a, b, out, last);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
