#include "cpu/lapack/small_triangles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/lapack/lane_numbers.h"
#include "cpu/lapack/numbers.h"
#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// A lower triangle; an upper one is one whose rows and columns are counted from the end.
template <class T>
struct Lower {
  explicit Lower(const Triangular<T>& s)
      : is_unit(s.is_unit), row(s.a_row), column(s.a_column), a(s.a) {
    if (s.is_upper) {
      a += (s.rows - 1) * (row + column);
      row = -row, column = -column;
    }
    using Limits = std::numeric_limits<Size<T>>;
    for (int64_t i = 0; !is_unit && i < s.rows; ++i) {
      reciprocals[i] = T(1) / (*this)(i, i);
      const auto size = size_of(reciprocals[i]);
      divides = divides || !(size >= Limits::min() && size <= Limits::max());
    }
  }
  T operator()(int64_t i, int64_t k) const { return a[i * row + k * column]; }

  bool is_unit, divides = false;  ///< by a diagonal that has no normal reciprocals
  int64_t row, column;
  const T* a;
  T reciprocals[kMostRows];
};

/// Rows of a copy of right-hand sides, `step` elements apart; parts of complex numbers lie apart.
template <class T>
struct Lines {
  T* data;
  int64_t step;
  T* at(int64_t i, int v) const { return data + i * step + v * kMatrices<T>; }
};

/// Rows that are solved at a time: their sums fill registers, and do not wait for each other.
template <class T>
constexpr int rows_of(int vectors) {
  if constexpr (kIsComplex<T>) return std::min(4, kVectorBytes / 8 / vectors);
  return vectors == 1 ? 8 : 4;
}

template <int vectors, class T>
FLAMBEAU_INLINE void divide_row(const Lower<T>& a, int64_t i, Numbers<T>* found) {
  if (a.is_unit) return;
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    found[v] =
        a.divides ? Divisor<T>(same(a(i, i))).under(found[v]) : same(a.reciprocals[i]) * found[v];
}

/// So many vectors of rows from `first` on; the rows before are found already.
template <int rows, int vectors, class T>
void solve_rows(const Lower<T>& a, int64_t first, const Lines<T>& b) {
  Numbers<T> found[rows][vectors] = {};
  const T* factors = a.a + first * a.row;
  for (int64_t k = 0; k < first; ++k, factors += a.column) {
    Numbers<T> x[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) x[v] = read(b.at(k, v));
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Numbers<T> factor = same(factors[r * a.row]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) found[r][v] = add<Real<T>>(factor, x[v], found[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) found[r][v] = read(b.at(first + r, v)) - found[r][v];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    divide_row<vectors>(a, first + r, found[r]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) write(b.at(first + r, v), found[r][v]);
#pragma GCC unroll 8
    for (int q = r + 1; q < rows; ++q) {
      const Numbers<T> factor = same(a(first + q, first + r));
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        found[q][v] = subtract_product<Real<T>>(found[q][v], factor, found[r][v]);
    }
  }
}

template <class T>
void copy_elements(int64_t rows, int64_t columns, const T* from, int64_t from_row,
                   int64_t from_column, T* to, int64_t to_row, int64_t to_column) {
  if (from_column == 1 && to_column == 1) {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * from_row, columns, to + i * to_row);
    return;
  }
  // In squares: columns far apart share places in the cache.
  constexpr int64_t kSquare = 16;
  for (int64_t first = 0; first < columns; first += kSquare)
    for (int64_t i = 0; i < rows; i += kSquare)
      for (int64_t c = first; c < std::min(columns, first + kSquare); ++c)
        for (int64_t r = i; r < std::min(rows, i + kSquare); ++r)
          to[r * to_row + c * to_column] = from[r * from_row + c * from_column];
}

/// Whole squares of vectors become their transposes; from's columns and to's rows are dense.
template <class T>
void copy_squares(int64_t rows, int64_t columns, const T* from, int64_t from_column, T* to,
                  int64_t to_row) {
  constexpr int lanes = kLanes<T>;
  for (int64_t i = 0; i + lanes <= rows; i += lanes)
    for (int64_t j = 0; j + lanes <= columns; j += lanes) {
      Vector<T> square[lanes];
#pragma GCC unroll 16
      for (int c = 0; c < lanes; ++c) square[c] = load(from + i + (j + c) * from_column);
      transpose_square<T>(square);
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) store(to + (i + r) * to_row + j, square[r]);
    }
}

/// What lies by columns becomes rows.
template <class T>
void turn(int64_t rows, int64_t columns, const T* from, int64_t from_column, T* to,
          int64_t to_row) {
  if constexpr (kIsComplex<T>)
    return copy_elements(rows, columns, from, 1, from_column, to, to_row, 1);
  else {
    const int64_t whole_rows = rows / kLanes<T> * kLanes<T>;
    const int64_t whole = columns / kLanes<T> * kLanes<T>;
    copy_squares(whole_rows, whole, from, from_column, to, to_row);
    copy_elements(whole_rows, columns - whole, from + whole * from_column, 1, from_column,
                  to + whole, to_row, 1);
    copy_elements(rows - whole_rows, columns, from + whole_rows, 1, from_column,
                  to + whole_rows * to_row, to_row, 1);
  }
}

/// Some columns of b, in rows of so many vectors.
template <int vectors, class T>
void take(const Triangular<T>& s, const T* b, int64_t columns, T* lines) {
  constexpr int64_t width = vectors * kMatrices<T>;
  if (s.b_row == 1)
    turn(s.rows, columns, b, s.b_column, lines, width);
  else
    copy_elements(s.rows, columns, b, s.b_row, s.b_column, lines, width, 1);
  for (int64_t i = 0; columns < width && i < s.rows; ++i)
    std::fill(lines + i * width + columns, lines + (i + 1) * width, T(0));
  separate(s.rows * vectors, lines);
}
template <int vectors, class T>
void give(const Triangular<T>& s, T* lines, int64_t columns, T* b) {
  constexpr int64_t width = vectors * kMatrices<T>;
  join(s.rows * vectors, lines);
  if (s.b_row == 1)
    turn(columns, s.rows, lines, width, b, s.b_column);
  else
    copy_elements(s.rows, columns, lines, width, 1, b, s.b_row, s.b_column);
}

/// So many vectors of columns of b.
template <int vectors, class T>
void solve_vectors(const Lower<T>& a, const Triangular<T>& s, T* b, int64_t columns) {
  constexpr int rows = rows_of<T>(vectors);
  constexpr int64_t width = vectors * kMatrices<T>;
  alignas(kVectorBytes) T copy[kCopiedBytes / sizeof(T)];
  take<vectors>(s, b, columns, copy);
  const Lines<T> lines =
      s.is_upper ? Lines<T>{copy + (s.rows - 1) * width, -width} : Lines<T>{copy, width};
  int64_t i = 0;
  for (; i + rows <= s.rows; i += rows) solve_rows<rows, vectors>(a, i, lines);
  if (i + rows / 2 <= s.rows) {
    solve_rows<rows / 2, vectors>(a, i, lines);
    i += rows / 2;
  }
  for (; i < s.rows; ++i) solve_rows<1, vectors>(a, i, lines);
  give<vectors>(s, copy, columns, b);
}

template <class T>
void substitute_beside(const Triangular<T>& s) {
  constexpr int most = kVectorBytes == 64 ? 4 : 2;
  constexpr int64_t one = kMatrices<T>;
  const Lower<T> lower(s);
  for (int64_t first = 0; first < s.columns; first += most * one) {
    const int64_t columns = std::min(most * one, s.columns - first);
    T* const b = s.b + first * s.b_column;
    if (columns <= one)
      solve_vectors<1>(lower, s, b, columns);
    else if (columns <= 2 * one)
      solve_vectors<2>(lower, s, b, columns);
    else if constexpr (most > 2)
      solve_vectors<most>(lower, s, b, columns);
  }
}

/// Few numbers: as they lie.
template <class T>
void substitute_tiny(const Triangular<T>& s) {
  for (int64_t c = 0; c < s.columns; ++c) {
    T* const b = s.b + c * s.b_column;
    for (int64_t done = 0; done < s.rows; ++done) {
      const int64_t k = s.is_upper ? s.rows - 1 - done : done;
      const T* const column = s.a + k * s.a_column;
      if (!s.is_unit) b[k * s.b_row] = b[k * s.b_row] / column[k * s.a_row];
      const T found = b[k * s.b_row];
      const int64_t first = s.is_upper ? 0 : k + 1, last = s.is_upper ? k : s.rows;
      for (int64_t i = first; i < last; ++i)
        b[i * s.b_row] = b[i * s.b_row] - column[i * s.a_row] * found;
    }
  }
}

/// The triangle by columns, which are kTriangle elements apart. What lies beside it is copied, too.
template <class T>
void copy_triangle(const Triangular<T>& s, T* to) {
  if (s.a_column == 1)
    turn(s.rows, s.rows, s.a, s.a_row, to, kTriangle);
  else if (s.a_row == 1)
    copy_elements(s.rows, s.rows, s.a, s.a_column, 1, to, kTriangle, 1);
  else
    copy_elements(s.rows, s.rows, s.a, s.a_row, s.a_column, to, 1, kTriangle);
}

/// One right-hand side: the next unknown, which is then taken out of all rows that are left.
template <class T>
void substitute_one(const Triangular<T>& s) {
  T triangle[kTriangle * kTriangle], b[kTriangle];
  copy_triangle(s, triangle);
  copy_elements(s.rows, 1, s.b, s.b_row, s.b_column, b, 1, kTriangle);
  for (int64_t done = 0; done < s.rows; ++done) {
    const int64_t k = s.is_upper ? s.rows - 1 - done : done;
    const T* const column = triangle + k * kTriangle;
    const int64_t first = s.is_upper ? 0 : k + 1, last = s.is_upper ? k : s.rows;
    if (!s.is_unit) b[k] = b[k] / column[k];
    subtract(first, last, b[k], column, b);
  }
  copy_elements(s.rows, 1, b, 1, kTriangle, s.b, s.b_row, s.b_column);
}

}  // namespace

template <class T>
void substitute(const Triangular<T>& s) {
  constexpr int64_t kTiny = 8;
  if (s.rows < kTiny) return substitute_tiny(s);
  if (s.columns == 1) return substitute_one(s);
  substitute_beside(s);
}
template void substitute(const Triangular<float>&);
template void substitute(const Triangular<double>&);
template void substitute(const Triangular<complex<float>>&);
template void substitute(const Triangular<complex<double>>&);

}  // namespace flambeau::cpu::FLAMBEAU_ISA
