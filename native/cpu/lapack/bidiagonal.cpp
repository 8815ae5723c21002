#include "cpu/lapack/bidiagonal.h"

#include <algorithm>

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/flushed_subnormals.h"
#include "cpu/lapack/scaling.h"

// LAPACK makes the matrix bidiagonal and finds the vectors of that; reflections turn them back in
// products of ours.

namespace flambeau::cpu::lapack {
namespace {

template <class T>
using Numbers = std::vector<T>;

/// A square or taller matrix as Q B P^T: the vectors of the reflections stand in it.
template <class T>
struct Bidiagonal {
  explicit Bidiagonal(const Matrix<T>& given)
      : a(given),
        diagonal(static_cast<size_t>(given.columns)),
        above(diagonal),
        left(diagonal),
        right(diagonal) {
    T size{};
    reduce(&size, -1);
    Scratch<T> work;
    const int64_t count = asked_size(size);
    reduce(work.of(count), count);
  }

  /// Values, and vectors of B.
  int solve(const Matrix<T>& u, const Matrix<T>& vh) {
    if (!is_finite(diagonal) || !is_finite(above)) return 1;
    const int64_t n = a.columns;
    Scratch<T> work;
    Scratch<int> integers;
    int failed = 0;
    bdsdc<T>('U', 'I', n, diagonal.data(), above.data(), u.data, u.column_step, vh.data,
             vh.column_step, static_cast<T*>(nullptr), static_cast<int*>(nullptr),
             work.of(3 * n * n + 4 * n), integers.of(8 * n), &failed);
    return failed;
  }

  /// u = Q u, vh = vh P^T.
  void turn_back(const Matrix<T>& u, const Matrix<T>& vh) const {
    const int64_t n = a.columns;
    apply_reflections(u, constant(a), left.data(), n, true, false);
    apply_reflections(part(vh, 0, 1, n, n - 1), constant(transposed(part(a, 0, 1, n - 1, n - 1))),
                      right.data(), n - 1, false, true);
  }

  Matrix<T> a;
  Numbers<T> diagonal, above, left, right;

 private:
  void reduce(T* work, int64_t size) {
    int failed = 0;
    gebrd<T>(a.rows, a.columns, a.data, a.column_step, diagonal.data(), above.data(), left.data(),
             right.data(), work, size, &failed);
  }
};

/// So many times as many rows as columns pay for making a triangle of them first.
constexpr double kTall = 1.6;

/// `a`, which is square or taller, is overwritten. `u`: zeros.
template <class T>
int solve(const Matrix<T>& a, T* values, const Matrix<T>& u, const Matrix<T>& vh) {
  const int64_t m = a.rows, n = a.columns;
  const bool is_tall = static_cast<double>(m) > kTall * static_cast<double>(n);
  const Owned<T> triangle(is_tall ? n : 0, is_tall ? n : 0);
  Numbers<T> factors(is_tall ? static_cast<size_t>(n) : 0);
  if (is_tall) {
    factor_by_reflections(a, factors.data());
    for (int64_t j = 0; j < n; ++j) {
      T* const column = &triangle.all()(0, j);
      std::copy_n(&a(0, j), j + 1, column);
      std::fill(column + j + 1, column + n, T(0));
    }
  }
  Bidiagonal<T> b(is_tall ? triangle.all() : a);
  const int failed = b.solve(part(u, 0, 0, n, n), vh);
  if (failed != 0) return failed;
  std::copy_n(b.diagonal.data(), n, values);
  for (int64_t j = n; j < u.columns; ++j) u(j, j) = T(1);
  b.turn_back(is_tall ? part(u, 0, 0, n, n) : u, vh);
  if (is_tall) apply_reflections(u, constant(a), factors.data(), n, true, false);
  return 0;
}

}  // namespace

template <class T>
int find_singular(const Matrix<const T>& a, T* values, const Matrix<T>& left,
                  const Matrix<T>& right) {
  // The transpose has them in each other's place.
  if (a.rows < a.columns)
    return find_singular(transposed(a), values, transposed(right), transposed(left));
  const int64_t m = a.rows, n = a.columns;
  const Owned<T> owned(m, n), u(m, left.columns), vh(n, n);
  copy<T>(a, owned.all());
  for (int64_t j = 0; j < left.columns; ++j) std::fill_n(&u.all()(0, j), m, T(0));
  const int exponent = scale(owned.all(), false);
  const int failed =
      flushing_subnormals([&] { return solve(owned.all(), values, u.all(), vh.all()); });
  if (failed != 0) return failed;
  for (int64_t i = 0; i < n; ++i) values[i] = std::ldexp(values[i], exponent);
  copy<T>(constant(u.all()), left);
  copy<T>(constant(vh.all()), right);
  return 0;
}

template int find_singular(const Matrix<const float>&, float*, const Matrix<float>&,
                           const Matrix<float>&);
template int find_singular(const Matrix<const double>&, double*, const Matrix<double>&,
                           const Matrix<double>&);

}  // namespace flambeau::cpu::lapack
