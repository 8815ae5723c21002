#include "cpu/lapack/blocks.h"
#include "cpu/lapack/small_factors.h"

// R. Schreiber and C. Van Loan, A Storage-Efficient WY Representation for Products of Householder
// Transformations, 1989: k reflections multiply to I - V T V^H, T an upper triangle. E. Elmroth and
// F. Gustavson, Applying Recursion to Serial and Parallel QR Factorization, 2000.

namespace flambeau::cpu::lapack {
namespace {

/// Reflections that are multiplied together: more make larger products, but more work in T.
constexpr int64_t kGroup = 4 * kPanel;

/// conj(matrix): the matrix itself where it is real, else a copy.
template <class T>
class Conjugate {
 public:
  explicit Conjugate(const Matrix<T>& matrix) : matrix_(matrix) {
    if constexpr (kIsComplex<T>) {
      copy_.emplace(matrix.rows, matrix.columns);
      copy<T>(constant(matrix), copy_->all());
      conjugate(copy_->all());
      matrix_ = copy_->all();
    }
  }
  /// The matrix, conjugated and transposed.
  Matrix<const T> adjoint() const { return constant(transposed(matrix_)); }

 private:
  Matrix<T> matrix_;
  std::optional<Owned<T>> copy_;
};

/// The vectors of the reflections in `a`: below their ones, above which are zeros.
template <class T>
void copy_vectors(const Matrix<const T>& a, const Matrix<T>& v) {
  for (int64_t j = 0; j < v.columns; ++j) {
    for (int64_t i = 0; i < j; ++i) v(i, j) = T(0);
    v(j, j) = T(1);
    for (int64_t i = j + 1; i < v.rows; ++i) v(i, j) = a(i, j);
  }
}

/// T of few reflections whose vectors are known, column by column.
template <class T>
void find_small_inner(const Matrix<T>& v, const T* tau, const Matrix<T>& t) {
  const Owned<T> products(v.columns, v.columns);
  const Matrix<T> angles = products.all();
  multiply(angles, T(1), Conjugate<T>(v).adjoint(), constant(v), T(0));
  for (int64_t j = 0; j < v.columns; ++j) {
    T* const column = &t(0, j);
    std::fill_n(column, v.columns, T(0));
    for (int64_t k = 0; k < j; ++k) {
      const T factor = -(tau[j] * angles(k, j));
      const T* const other = &t(0, k);
      for (int64_t i = 0; i <= k; ++i) column[i] = column[i] + factor * other[i];
    }
    column[j] = tau[j];
  }
}

/// The block of T beside those of two groups of reflections.
template <class T>
void join_inner(const Matrix<T>& v, const Matrix<T>& t, int64_t half) {
  const int64_t rest = v.columns - half, rows = v.rows - half;
  const Matrix<T> first = part(v, half, 0, rows, half), second = part(v, half, half, rows, rest);
  const Owned<T> products(half, rest), turned(half, rest);
  for (int64_t j = 0; j < half; ++j) std::fill_n(&t(half, j), rest, T(0));
  multiply(products.all(), T(1), Conjugate<T>(first).adjoint(), constant(second), T(0));
  multiply(turned.all(), T(1), constant(part(t, 0, 0, half, half)), constant(products.all()), T(0));
  multiply(part(t, 0, half, half, rest), T(-1), constant(turned.all()),
           constant(part(t, half, half, rest, rest)), T(0));
}

/// T of reflections whose vectors are known.
template <class T>
void find_inner(const Matrix<T>& v, const T* tau, const Matrix<T>& t) {
  const int64_t k = v.columns;
  if (k <= kPanel) return find_small_inner(v, tau, t);
  const int64_t half = half_of(k, kPanel), rest = k - half;
  find_inner(part(v, 0, 0, v.rows, half), tau, part(t, 0, 0, half, half));
  find_inner(part(v, half, half, v.rows - half, rest), tau + half, part(t, half, half, rest, rest));
  join_inner(v, t, half);
}

/// c = Q c, or Q^H c, where Q = I - V T V^H.
template <class T>
void apply(const Matrix<T>& v, const Matrix<T>& t, const Matrix<T>& c, bool adjoint) {
  const Owned<T> products(v.columns, c.columns), turned(v.columns, c.columns);
  multiply(products.all(), T(1), Conjugate<T>(v).adjoint(), constant(c), T(0));
  if (adjoint)
    multiply(turned.all(), T(1), Conjugate<T>(t).adjoint(), constant(products.all()), T(0));
  else
    multiply(turned.all(), T(1), constant(t), constant(products.all()), T(0));
  multiply(c, T(-1), constant(v), constant(turned.all()), T(1));
}

/// V and T of a group of reflections, in the first elements of two matrices.
template <class T>
struct Group {
  Group(int64_t rows, int64_t count) : vectors(rows, count), inner(count, count) {}
  Matrix<T> v(int64_t rows, int64_t count) const { return part(vectors.all(), 0, 0, rows, count); }
  Matrix<T> t(int64_t count) const { return part(inner.all(), 0, 0, count, count); }

  Owned<T> vectors, inner;
};

/// Factors a, which has no more columns than rows, and finds V and T.
template <class T>
void factor_tall(const Matrix<T>& a, T* tau, const Matrix<T>& v, const Matrix<T>& t) {
  const int64_t m = a.rows, n = a.columns;
  if (n <= kPanel) {
    small_factors<T>().reflect(m, n, a.data, a.column_step, tau);
    copy_vectors(constant(a), v);
    return find_small_inner(v, tau, t);
  }
  const int64_t half = half_of(n, kPanel), rest = n - half;
  const Matrix<T> first = part(v, 0, 0, m, half), inner = part(t, 0, 0, half, half);
  factor_tall(part(a, 0, 0, m, half), tau, first, inner);
  apply(first, inner, part(a, 0, half, m, rest), true);
  for (int64_t j = half; j < n; ++j) std::fill_n(&v(0, j), half, T(0));
  factor_tall(part(a, half, half, m - half, rest), tau + half, part(v, half, half, m - half, rest),
              part(t, half, half, rest, rest));
  join_inner(v, t, half);
}

/// Whether columns are so few, or the work so little, that reflections are applied one after the
/// other: that needs no T.
template <class T>
bool are_few(int64_t rows, int64_t columns, int64_t count) {
  constexpr int64_t kFew = 32, kLittle = 1 << 20;
  return columns <= kFew || rows * columns * count * (kIsComplex<T> ? 4 : 1) <= kLittle;
}

/// c = Q c or Q^H c for few columns: each vector is read once, as it lies.
template <class T>
void reflect_few(const Matrix<T>& c, const Matrix<const T>& a, const T* tau, int64_t k,
                 bool adjoint) {
  constexpr int64_t kTogether = 4;  // columns that the kernel reflects at once
  constexpr int64_t kWorth = 100'000;
  const int64_t grain = std::max<int64_t>(1, kWorth / std::max<int64_t>(1, c.rows * k * kTogether));
  parallel_for(0, (c.columns + kTogether - 1) / kTogether, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kTogether, last = std::min(end * kTogether, c.columns);
    small_factors<T>().apply({c.rows, last - first, &c(0, first), c.column_step, k, a.data,
                              a.column_step, tau, adjoint});
  });
}

/// The same, whatever the strides, of the conjugated product where `conjugated`.
template <class T>
void reflect_few(const Matrix<T>& c, const Matrix<const T>& a, const T* tau, int64_t k,
                 bool adjoint, bool conjugated) {
  if (a.row_step != 1) {
    const Owned<T> vectors(a.rows, k);
    copy<T>(part(a, 0, 0, a.rows, k), vectors.all());
    return reflect_few(c, constant(vectors.all()), tau, k, adjoint, conjugated);
  }
  if (c.row_step == 1 && !conjugated) return reflect_few(c, a, tau, k, adjoint);
  const Owned<T> columns(c.rows, c.columns);
  const Matrix<T> dense = columns.all();
  const auto turn = [&] {
    if constexpr (kIsComplex<T>) {
      if (conjugated) conjugate(dense);
    }
  };
  copy<T>(constant(c), dense);
  turn();
  reflect_few(dense, a, tau, k, adjoint);
  turn();
  copy<T>(constant(dense), c);
}

}  // namespace

template <class T>
void factor_by_reflections(const Matrix<T>& a, T* tau) {
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  if (k == 0) return;
  if (n <= kPanel) return small_factors<T>().reflect(m, n, a.data, a.column_step, tau);
  const Group<T> group(m, std::min(k, kGroup));
  for (int64_t first = 0; first < k; first += kGroup) {
    const int64_t rows = m - first, count = std::min(kGroup, k - first), rest = n - first - count;
    const Matrix<T> v = group.v(rows, count), t = group.t(count);
    factor_tall(part(a, first, first, rows, count), tau + first, v, t);
    if (rest > 0) apply(v, t, part(a, first, first + count, rows, rest), true);
  }
}

template <class T>
void multiply_reflections(const Matrix<T>& result, const Matrix<const T>& a, const T* tau,
                          int64_t k) {
  const int64_t m = result.rows, n = result.columns;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) result(i, j) = T(i == j ? 1 : 0);
  if (k == 0 || n == 0) return;
  const Group<T> group(m, std::min(k, kGroup));
  for (int64_t first = (k - 1) / kGroup * kGroup; first >= 0; first -= kGroup) {
    const int64_t rows = m - first, count = std::min(kGroup, k - first);
    const Matrix<T> v = group.v(rows, count), t = group.t(count);
    copy_vectors(part(a, first, first, rows, count), v);
    find_inner(v, tau + first, t);
    // Columns before these are still those of I, with zeros in these rows.
    apply(v, t, part(result, first, first, rows, n - first), false);
  }
}

template <class T>
void apply_reflections(const Matrix<T>& c, const Matrix<const T>& a, const T* tau, int64_t k,
                       bool left, bool adjoint) {
  // (c Q)' = Q' c', and Q' is the adjoint of the product of conjugated reflections.
  const Matrix<T> lines = left ? c : transposed(c);
  const bool turns = left == adjoint;
  // A group of reflections changes the lines from its first one on.
  const int64_t m = lines.rows, groups = (k + kGroup - 1) / kGroup;
  if (lines.columns == 0) return;
  if (are_few<T>(m, lines.columns, k))
    return reflect_few(lines, a, tau, k, turns, kIsComplex<T> && !left);
  const Group<T> group(m, std::min(k, kGroup));
  T factors[kGroup];
  for (int64_t done = 0; done < groups; ++done) {
    const int64_t first = (turns ? done : groups - 1 - done) * kGroup;
    const int64_t count = std::min(kGroup, k - first);
    const Matrix<T> v = group.v(m - first, count), t = group.t(count);
    copy_vectors(part(a, first, first, m - first, count), v);
    std::copy_n(tau + first, count, factors);
    if constexpr (kIsComplex<T>) {
      if (!left) {
        conjugate(v);
        conjugate(Matrix<T>{factors, count, 1, 1, count});
      }
    }
    find_inner(v, factors, t);
    apply(v, t, part(lines, first, 0, m - first, lines.columns), turns);
  }
}

#define FLAMBEAU_REFLECTIONS(T)                                                                    \
  template void factor_by_reflections(const Matrix<T>&, T*);                                       \
  template void multiply_reflections(const Matrix<T>&, const Matrix<const T>&, const T*, int64_t); \
  template void apply_reflections(const Matrix<T>&, const Matrix<const T>&, const T*, int64_t,     \
                                  bool, bool);
FLAMBEAU_REFLECTIONS(float)
FLAMBEAU_REFLECTIONS(double)
FLAMBEAU_REFLECTIONS(complex<float>)
FLAMBEAU_REFLECTIONS(complex<double>)
#undef FLAMBEAU_REFLECTIONS

}  // namespace flambeau::cpu::lapack
