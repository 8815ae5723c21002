#pragma once

#include <array>
#include <utility>

#include "cpu/linalg/gemm_kernel.h"
#include "cpu/linalg/vector.h"

// The tile that all dense kernels are made of: a block of the result that stays in registers while
// products of a column of a with a row of b are added to it. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kTileRows = 12;  // 12 x 2 accumulators, 2 of b, of 32 registers
#else
inline constexpr int kTileRows = 6;  // of 16 registers
#endif
inline constexpr int kTileVectors = 2;
template <class T>
inline constexpr int64_t kTileColumns = kTileVectors* kLanes<T>;

/// How a finished tile reaches c.
template <class T>
struct Epilogue {
  using S = Sum<T>;
  S* c;
  int64_t ldc;
  S alpha, beta;
  const S* bias;

  bool reads() const { return beta != S(0); }
  const S* at(int i, int j) const { return c + i * ldc + j; }
  /// A vector of sums, the first of column j; `mask`: those that belong to c, or null for all.
  [[gnu::always_inline]] void write(int i, int j, Vector<S> sum, const Mask<S>* mask) const {
    Vector<S> value = alpha == S(1) ? sum : sum * splat(alpha);
    S* const to = c + i * ldc + j;
    if (beta != S(0)) value += (mask ? mask->load(to) : load(to)) * splat(beta);
    if (bias) value += mask ? mask->load(bias + j) : load(bias + j);
    if (mask)
      mask->store(to, value);
    else
      store(to, value);
  }
};

/// How many rows of sums make one row of a result.
template <class Out>
inline constexpr int kSumRows = 1;

/// Element (i, p) of a at data[i * row + p * column].
template <class T>
struct StridedRows {
  const T* data;
  int64_t row, column;
  T at(int i) const { return data[i * row]; }
  void advance() { data += column; }
};

/// Panels of packed a: so many elements for each step of the depth.
template <class T, int kRows = kTileRows>
struct PackedRows {
  const T* data;
  T at(int i) const { return data[i]; }
  void advance() { data += kRows; }
};

/// Row p of b at data + p * step.
template <class T>
struct SteppedLines {
  const T* data;
  int64_t step;
  const T* line() const { return data; }
  void advance() { data += step; }
};

/// Row p of b at data + offsets[p].
template <class T>
struct ScatteredLines {
  const T* data;
  const int64_t* offsets;
  const T* line() const { return data + *offsets; }
  void advance() { ++offsets; }
};

/// One tile: `rows` x `vectors` vectors, over the whole depth. The last vector may be partial.
template <class T, class Rows, class Lines, class Out, int rows, int vectors, bool partial>
void tile(int64_t depth, const Rows& rows_of_a, const Lines& lines_of_b, const Out& to,
          int64_t last) {
  using S = Sum<T>;
  Rows a = rows_of_a;
  Lines b = lines_of_b;
  constexpr int lanes = kLanes<T>;
  if (to.reads()) {
#pragma GCC unroll 16
    for (int i = 0; i < rows / kSumRows<Out>; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(to.at(i, j * lanes), 1);
  }
  const Mask<T> mask(partial ? last : lanes);
  const Mask<S> sums(partial ? last : lanes);
  Vector<S> sum[rows][vectors];
#pragma GCC unroll 24
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[i][j] = Vector<S>{};
  const auto step = [&] {
    Vector<T> line[vectors];
    const T* source = b.line();
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      line[j] =
          partial && j == vectors - 1 ? mask.load(source + j * lanes) : load(source + j * lanes);
#pragma GCC unroll 24
    for (int i = 0; i < rows; ++i) {
      const Vector<T> factor = splat(a.at(i));
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] = multiply_add<T>(factor, line[j], sum[i][j]);
    }
    a.advance();
    b.advance();
  };
  int64_t p = 0;
  // Several steps a turn where nearly all tiles are such: a fifth of a step is counting. Of four,
  // gcc keeps some sums in memory.
  if constexpr (rows * vectors == kTileRows * kTileVectors && !partial)
    for (; p + 3 <= depth; p += 3) step(), step(), step();
  for (; p < depth; ++p) step();
  const Out out = to;  // a copy, which writes cannot change
#pragma GCC unroll 24
  for (int i = 0; i < rows; i += kSumRows<Out>)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const Mask<S>* const written = partial && j == vectors - 1 ? &sums : nullptr;
      if constexpr (kSumRows<Out> == 1)
        out.write(i, j * lanes, sum[i][j], written);
      else
        out.write(i / 2, j * lanes, sum[i][j], sum[i + 1][j], written);
    }
}

template <class T, class Rows, class Lines, class Out>
using Tile = void (*)(int64_t, const Rows&, const Lines&, const Out&, int64_t);

template <class T, class Rows, class Lines, class Out, int least, int... index>
constexpr std::array<Tile<T, Rows, Lines, Out>, sizeof...(index)> make_tiles(
    std::integer_sequence<int, index...>) {
  return {tile<T, Rows, Lines, Out, (index / 4 + least) * kSumRows<Out>, index / 2 % 2 + 1,
               index % 2 == 1>...};
}

/// The tile function for `least`..kTileRows rows of sums, or of results that are made of some, 1 or
/// 2 vectors, whole or partial.
template <class T, class Rows, class Lines, class Out, int least>
struct Tiles {
  static constexpr int kCount = (kTileRows / kSumRows<Out> - least + 1) * 4;
  static const std::array<Tile<T, Rows, Lines, Out>, kCount> functions;
};
template <class T, class Rows, class Lines, class Out, int least>
constinit const std::array<Tile<T, Rows, Lines, Out>, Tiles<T, Rows, Lines, Out, least>::kCount>
    Tiles<T, Rows, Lines, Out, least>::functions =
        make_tiles<T, Rows, Lines, Out, least>(std::make_integer_sequence<int, kCount>());

// Those of numbers in rows, which many kernels run, are compiled once: in tiles.simd.cpp.
extern template struct Tiles<float, StridedRows<float>, SteppedLines<float>, Epilogue<float>, 1>;
extern template struct Tiles<double, StridedRows<double>, SteppedLines<double>, Epilogue<double>,
                             1>;

template <class T, class Rows, class Lines, class Out, int... index>
constexpr std::array<Tile<T, Rows, Lines, Out>, sizeof...(index)> make_whole_tiles(
    std::integer_sequence<int, index...>) {
  return {tile<T, Rows, Lines, Out, index + 1, kTileVectors, false>...};
}
template <class T, class Rows, class Lines, class Out>
inline constexpr auto kWholeTiles =
    make_whole_tiles<T, Rows, Lines, Out>(std::make_integer_sequence<int, kTileRows>());

/// kTileColumns<T> columns, whose lines are whole; 1 <= rows <= kTileRows.
template <class T, class Rows, class Lines, class Out>
inline void run_whole_tile(int64_t rows, int64_t depth, const Rows& a, const Lines& b,
                           const Out& out) {
  kWholeTiles<T, Rows, Lines, Out>[static_cast<size_t>(rows - 1)](depth, a, b, out, kLanes<T>);
}

/// least <= rows <= kTileRows, columns <= kTileColumns<T>.
template <int least = 1, class T, class Rows, class Lines>
inline void run_tile(int64_t rows, int64_t columns, int64_t depth, const Rows& a, const Lines& b,
                     const Epilogue<T>& out) {
  const int64_t vectors = (columns + kLanes<T> - 1) / kLanes<T>;
  const int64_t last = columns - (vectors - 1) * kLanes<T>;
  const int64_t index = (rows - least) * 4 + (vectors - 1) * 2 + (last != kLanes<T>);
  constexpr auto& functions = Tiles<T, Rows, Lines, Epilogue<T>, least>::functions;
  functions[static_cast<size_t>(index)](depth, a, b, out, last);
}

/// Rows of a tile of one vector: as many accumulators as others have.
inline constexpr int kTallRows = kTileRows * kTileVectors;

template <class T, class Rows, class Lines, class Out, int... index>
constexpr std::array<Tile<T, Rows, Lines, Out>, sizeof...(index)> make_tall_tiles(
    std::integer_sequence<int, index...>) {
  return {tile<T, Rows, Lines, Out, index / 2 + 1, 1, index % 2 == 1>...};
}
template <class T, class Rows, class Lines, class Out>
inline constexpr auto kTallTiles =
    make_tall_tiles<T, Rows, Lines, Out>(std::make_integer_sequence<int, kTallRows * 2>());

/// 1 <= rows <= kTallRows, columns <= kLanes<T>.
template <class T, class Rows, class Lines>
inline void run_tall_tile(int64_t rows, int64_t columns, int64_t depth, const Rows& a,
                          const Lines& b, const Epilogue<T>& out) {
  const int64_t index = (rows - 1) * 2 + (columns != kLanes<T>);
  kTallTiles<T, Rows, Lines, Epilogue<T>>[static_cast<size_t>(index)](depth, a, b, out, columns);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
