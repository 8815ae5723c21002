#include "cpu/linalg/small_products.h"

#include <algorithm>

#include "core/base/macros.h"
#include "cpu/linalg/vector.h"
#include "cpu/transpose.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The real numbers that one is made of: their type, and how many.
template <class T>
struct PartOf {
  using type = T;
  static constexpr int count = 1;
};
template <class T>
struct PartOf<complex<T>> {
  using type = T;
  static constexpr int count = 2;
};
template <class T>
using Part = typename PartOf<T>::type;
template <class T>
inline constexpr int kEach = PartOf<T>::count;
template <class T>
const Part<T>* as_parts(const T* numbers) {
  return reinterpret_cast<const Part<T>*>(numbers);
}

constexpr int kMostVectors = 4;  // of a row of b

/// The rows of one b, as vectors of the parts of numbers, zeros behind the last. Columns are read
/// in squares, which may end behind the last row.
template <class T, int vectors>
using Lines = Vector<Part<T>>[kSmallSide][vectors];

/// Of a b whose rows are dense.
template <class T, int vectors>
FLAMBEAU_INLINE void take_rows(const MatrixView<T>& b, int64_t k, const Mask<Part<T>>& last,
                               Lines<T, vectors>& lines) {
  constexpr int lanes = kLanes<Part<T>>;
  for (int64_t p = 0; p < k; ++p) {
    const Part<T>* const row = as_parts(b.data + p * b.row);
#pragma GCC unroll 4
    for (int v = 0; v + 1 < vectors; ++v) lines[p][v] = load(row + v * lanes);
    lines[p][vectors - 1] = last.load(row + (vectors - 1) * lanes);
  }
}

/// Sixteen bytes of numbers, which are turned in registers and then joined to vectors.
template <class P>
struct PieceOf {
  typedef P type __attribute__((vector_size(16), may_alias));
};
template <class P>
using Piece = typename PieceOf<P>::type;
constexpr int kPieces = kVectorBytes / 16;

template <class V, class Half, size_t... i>
FLAMBEAU_INLINE V joined(Half low, Half high, std::index_sequence<i...>) {
  return __builtin_shufflevector(low, high, i...);
}
template <class P>
FLAMBEAU_INLINE Vector<P> join(const Piece<P>* pieces) {
  constexpr size_t count = 16 / sizeof(P);
  if constexpr (kPieces == 1) {
    return (Vector<P>)pieces[0];
  } else {
    typedef P Half __attribute__((vector_size(32)));
    constexpr std::make_index_sequence<2 * count> both;
    const Half low = joined<Half>(pieces[0], pieces[1], both);
    if constexpr (kPieces == 2) {
      return (Vector<P>)low;
    } else {
      const Half high = joined<Half>(pieces[2], pieces[3], both);
      return (Vector<P>)joined<Vector<P>>(low, high, std::make_index_sequence<4 * count>());
    }
  }
}

/// As many numbers of as many columns as a piece has.
template <class T>
inline constexpr int64_t kSide = 16 / static_cast<int64_t>(sizeof(T));

/// Numbers of such columns, `step` apart, become rows; zeros outside of so many rows and columns.
template <class T>
FLAMBEAU_INLINE void turn(const T* from, int64_t step, int64_t rows, int64_t columns,
                          Piece<Part<T>>* to) {
  constexpr int64_t side = kSide<T>;
  if constexpr (side > 1) {
    if (FLAMBEAU_LIKELY(rows >= side && columns >= side)) {
      using Word = std::conditional_t<side == 4, uint32_t, uint64_t>;
      transpose_rows<Word>(
          [=](int64_t r) { return reinterpret_cast<Word*>(to + r); },
          [=](int64_t c) { return reinterpret_cast<const Word*>(from + c * step); });
      return;
    }
  }
  alignas(16) T found[side][side] = {};
  for (int64_t c = 0; c < std::min(side, columns); ++c)
    for (int64_t r = 0; r < std::min(side, rows); ++r) found[r][c] = from[c * step + r];
  std::memcpy(to, found, sizeof(found));
}

/// Of a b whose columns are dense.
template <class T, int vectors>
FLAMBEAU_INLINE void take_columns(const MatrixView<T>& b, int64_t k, int64_t n,
                                  Lines<T, vectors>& lines) {
  constexpr int64_t side = kSide<T>;
  for (int64_t p = 0; p < k; p += side)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      Piece<Part<T>> turned[side][kPieces];
#pragma GCC unroll 4
      for (int piece = 0; piece < kPieces; ++piece) {
        const int64_t j = (v * kPieces + piece) * side;
        Piece<Part<T>> found[side] = {};
        if (j < n) turn<T>(b.data + j * b.column + p, b.column, k - p, n - j, found);
#pragma GCC unroll 4
        for (int64_t r = 0; r < side; ++r) turned[r][piece] = found[r];
      }
#pragma GCC unroll 4
      for (int64_t r = 0; r < side; ++r) lines[p + r][v] = join<Part<T>>(turned[r]);
    }
}

/// Of any b.
template <class T, int vectors>
void take_each(const MatrixView<T>& b, int64_t k, int64_t n, Lines<T, vectors>& lines) {
  for (int64_t p = 0; p < k; ++p) {
    T row[vectors * kLanes<Part<T>> / kEach<T>] = {};
    for (int64_t j = 0; j < n; ++j) row[j] = b.data[p * b.row + j * b.column];
    std::memcpy(lines[p], row, sizeof(row));
  }
}

/// The products of numbers, whose real and imaginary factors were added up apart.
template <class P>
FLAMBEAU_INLINE Vector<P> combined(Vector<P> of_real, Vector<P> of_imaginary) {
  Vector<P> sign;
  typedef typename VectorOf<std::conditional_t<sizeof(P) == 4, int32_t, int64_t>>::type Index;
  Index swapped;
  for (int l = 0; l < kLanes<P>; ++l) {
    sign[l] = l % 2 ? P(1) : P(-1);
    swapped[l] = l ^ 1;
  }
  return multiply_add<P>(__builtin_shuffle(of_imaginary, swapped), sign, of_real);
}

/// Rows of c from row i on: `rows` at a time, then the rest in halves of that.
template <int rows, class T, int vectors>
FLAMBEAU_INLINE void multiply_rows(int64_t i, int64_t m, int64_t n, int64_t k,
                                   const MatrixView<T>& a, const Lines<T, vectors>& lines,
                                   const Mask<Part<T>>& last, T* c) {
  using P = Part<T>;
  for (; i + rows <= m; i += rows) {
    Vector<P> sums[kEach<T>][rows][vectors] = {};
    const T* from = a.data + i * a.row;
    for (int64_t p = 0; p < k; ++p, from += a.column)
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int e = 0; e < kEach<T>; ++e) {
          const Vector<P> factor = splat(as_parts(from + r * a.row)[e]);
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            sums[e][r][v] = multiply_add<P>(factor, lines[p][v], sums[e][r][v]);
        }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      P* const to = reinterpret_cast<P*>(c + (i + r) * n);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Vector<P> found = sums[0][r][v];
        if constexpr (kEach<T> == 2) found = combined<P>(found, sums[1][r][v]);
        if (v + 1 < vectors)
          store(to + v * kLanes<P>, found);
        else
          last.store(to + v * kLanes<P>, found);
      }
    }
  }
  if constexpr (rows > 1) multiply_rows<rows / 2, T, vectors>(i, m, n, k, a, lines, last, c);
}

template <class T, int vectors>
void multiply_by_vectors(const SmallProducts<T>& call) {
  constexpr int rows = std::max(1, (vectors == 3 ? 4 : 8) / vectors / kEach<T>);
  const auto [count, m, n, k, all_a, all_b, c] = call;
  const Mask<Part<T>> last(n * kEach<T> - (vectors - 1) * kLanes<Part<T>>);
  Lines<T, vectors> lines;
  for (int64_t index = 0; index < count; ++index) {
    const MatrixView<T> a = all_a.from(index).first, b = all_b.from(index).first;
    if (b.column == 1 || n == 1)
      take_rows<T, vectors>(b, k, last, lines);
    else if (b.row == 1 || k == 1)
      take_columns<T, vectors>(b, k, n, lines);
    else
      take_each<T, vectors>(b, k, n, lines);
    multiply_rows<rows, T, vectors>(0, m, n, k, a, lines, last, c + index * m * n);
  }
}

template <class T>
void multiply(const SmallProducts<T>& call) {
  switch ((call.n * kEach<T> + kLanes<Part<T>> - 1) / kLanes<Part<T>>) {
    case 0:
      return;
    case 1:
      return multiply_by_vectors<T, 1>(call);
    case 2:
      return multiply_by_vectors<T, 2>(call);
    case 3:
      return multiply_by_vectors<T, 3>(call);
    default:
      return multiply_by_vectors<T, 4>(call);
  }
}

}  // namespace

template <class T>
const SmallProductKernels<T>& small_product_kernels() {
  constexpr int64_t columns = kLanes<Part<T>> / kEach<T>;  // of a vector
  static constexpr SmallProductKernels<T> kernels{
      &multiply<T>, std::min<int64_t>(kSmallSide, kMostVectors * columns),
      std::min<int64_t>(kSmallSide, 2 * columns)};
  return kernels;
}
template const SmallProductKernels<float>& small_product_kernels();
template const SmallProductKernels<double>& small_product_kernels();
template const SmallProductKernels<complex<float>>& small_product_kernels();
template const SmallProductKernels<complex<double>>& small_product_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
