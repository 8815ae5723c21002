#include "cpu/lapack/tridiagonal_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/lapack/numbers.h"
#include "cpu/linalg/vector.h"

// J. Dongarra, D. Sorensen and S. Hammarling, Block Reduction of Matrices to Condensed Forms for
// Eigenvalue Computations, 1989: A - v w^H - w v^H is what a reflection on both sides makes of a
// matrix. The next reflection is that of one column, so that while the other columns change, the
// product with its vector is added up: each step reads the matrix once.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using lapack::kIsComplex;
using lapack::Real;

/// A vector's real and imaginary parts. Those of real numbers have the second alone for form.
template <class R>
struct Line {
  R *re, *im;
};

/// The whole matrix and four vectors, real and imaginary parts apart, each column and vector a
/// whole number of machine vectors.
template <class T>
class Workspace {
 public:
  using R = Real<T>;
  static constexpr int64_t kParts = kIsComplex<T> ? 2 : 1;
  static constexpr int64_t kVectors = 4;

  static int64_t padded(int64_t n) { return (n + kLanes<R> - 1) / kLanes<R> * kLanes<R>; }
  static int64_t room(int64_t n) { return kParts * padded(n) * (n + kVectors); }

  Workspace(const Hermitian<T>& matrix, R* memory)
      : n_(matrix.rows), length_(padded(n_)), memory_(memory) {
    std::fill_n(memory, room(n_), R(0));
    for (int64_t j = 0; j < n_; ++j) {
      for (int64_t i = j; i < n_; ++i) {
        const T value = matrix.a[i + j * matrix.step];
        column(j).re[i] = column(i).re[j] = real_part(value);
        if constexpr (kIsComplex<T>) {
          column(j).im[i] = i == j ? R(0) : value.im;
          column(i).im[j] = i == j ? R(0) : -value.im;
        }
      }
    }
  }
  int64_t length() const { return length_; }
  Line<R> column(int64_t j) const {
    R* const first = memory_ + j * kParts * length_;
    return {first, first + (kParts - 1) * length_};
  }
  /// One of the four.
  Line<R> vector(int64_t i) const { return column(n_ + i); }

 private:
  int64_t n_, length_;
  R* memory_;
};

template <class T>
T element(const Line<Real<T>>& line, int64_t i) {
  if constexpr (kIsComplex<T>) {
    return {line.re[i], line.im[i]};
  } else {
    return line.re[i];
  }
}
template <class T>
void set(const Line<Real<T>>& line, int64_t i, T value) {
  line.re[i] = real_part(value);
  if constexpr (kIsComplex<T>) line.im[i] = value.im;
}

/// What changes the matrix, A - v w^H - w v^H, and the next vector, whose product with what it
/// becomes is added to `sum`.
template <class R>
struct Change {
  Line<R> v, w, next, sum;
};

/// Elements j of v, w and the next vector, in all lanes; the first two with the other sign.
template <class R>
struct Factors {
  Vector<R> v_re, v_im, w_re, w_im, next_re, next_im;
  Factors(const Change<R>& c, int64_t j)
      : v_re(splat(-c.v.re[j])),
        v_im(splat(-c.v.im[j])),
        w_re(splat(-c.w.re[j])),
        w_im(splat(-c.w.im[j])),
        next_re(splat(c.next.re[j])),
        next_im(splat(c.next.im[j])) {}
};

/// Columns j to below j + count, from the vector on that row `first` is in.
template <class T, int count>
void change_columns(const Workspace<T>& work, int64_t first, int64_t j,
                    const Change<Real<T>>& change) {
  using R = Real<T>;
  constexpr int64_t kStep = kLanes<R>;
  const auto run = [&]<size_t... c>(std::index_sequence<c...>) {
    const Factors<R> factors[] = {Factors<R>(change, j + static_cast<int64_t>(c))...};
    const Line<R> columns[] = {work.column(j + static_cast<int64_t>(c))...};
    for (int64_t i = first / kStep * kStep; i < work.length(); i += kStep) {
      const Vector<R> v = load(change.v.re + i), w = load(change.w.re + i);
      Vector<R> sum = load(change.sum.re + i);
      if constexpr (kIsComplex<T>) {
        const Vector<R> v_im = load(change.v.im + i), w_im = load(change.w.im + i);
        Vector<R> sum_im = load(change.sum.im + i);
        for (int k = 0; k < count; ++k) {
          const Factors<R>& f = factors[k];
          Vector<R> re = load(columns[k].re + i), im = load(columns[k].im + i);
          re = multiply_add<R>(v, f.w_re, multiply_add<R>(v_im, f.w_im, re));
          re = multiply_add<R>(w, f.v_re, multiply_add<R>(w_im, f.v_im, re));
          im = multiply_add<R>(v_im, f.w_re, multiply_add<R>(-v, f.w_im, im));
          im = multiply_add<R>(w_im, f.v_re, multiply_add<R>(-w, f.v_im, im));
          store(columns[k].re + i, re);
          store(columns[k].im + i, im);
          sum = multiply_add<R>(re, f.next_re, multiply_add<R>(-im, f.next_im, sum));
          sum_im = multiply_add<R>(re, f.next_im, multiply_add<R>(im, f.next_re, sum_im));
        }
        store(change.sum.im + i, sum_im);
      } else {
        for (int k = 0; k < count; ++k) {
          const Factors<R>& f = factors[k];
          Vector<R> re = load(columns[k].re + i);
          re = multiply_add<R>(v, f.w_re, multiply_add<R>(w, f.v_re, re));
          store(columns[k].re + i, re);
          sum = multiply_add<R>(re, f.next_re, sum);
        }
      }
      store(change.sum.re + i, sum);
    }
  };
  run(std::make_index_sequence<count>());
}

template <class T>
void change_columns(const Workspace<T>& work, int64_t first, int64_t last,
                    const Change<Real<T>>& change) {
  constexpr int kTogether = kIsComplex<T> ? 2 : 4;
  int64_t j = first;
  for (; j + kTogether <= last; j += kTogether)
    change_columns<T, kTogether>(work, first, j, change);
  for (; j < last; ++j) change_columns<T, 1>(work, first, j, change);
}

/// The sum of conj(x[i]) y[i].
template <class T>
T inner_product(const Line<Real<T>>& x, const Line<Real<T>>& y, int64_t first, int64_t last) {
  Real<T> re = 0, im = 0;
  if constexpr (kIsComplex<T>) {
#pragma omp simd reduction(+ : re, im)
    for (int64_t i = first; i < last; ++i) {
      re += x.re[i] * y.re[i] + x.im[i] * y.im[i];
      im += x.re[i] * y.im[i] - x.im[i] * y.re[i];
    }
    return {re, im};
  } else {
#pragma omp simd reduction(+ : re)
    for (int64_t i = first; i < last; ++i) re += x.re[i] * y.re[i];
    return re;
  }
}

/// Below this, squares in double have lost digits, or numbers cannot be divided by: as nothing,
/// beside a matrix that is scaled.
template <class R>
constexpr double kNothing = sizeof(R) == 4 ? std::numeric_limits<R>::min() : 0x1p-480;

/// The reflection that leaves of a column's elements from `row` on the first alone, which becomes
/// real: `v` gets its vector, with a 1 there and zeros before. Returns its factor.
template <class T>
T reflection(const Line<Real<T>>& column, int64_t row, int64_t n, const Line<Real<T>>& v,
             Real<T>* beside) {
  using R = Real<T>;
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = row + 1; i < n; ++i) {
    const double re = column.re[i], im = kIsComplex<T> ? column.im[i] : R(0);
    squares += re * re + im * im;
  }
  const T alpha = element<T>(column, row);
  const double re = real_part(alpha), im = imaginary_part(alpha);
  const double length = std::sqrt(squares + re * re + im * im);
  const bool is_nothing = (squares == 0 && im == 0) || length < kNothing<R>;
  const R beta = static_cast<R>(is_nothing ? re : -std::copysign(length, re));
  *beside = beta;
  std::fill_n(v.re, row, R(0));
  v.re[row] = 1;
  if constexpr (kIsComplex<T>) std::fill_n(v.im, row + 1, R(0));
  const T factor = is_nothing ? T(0) : T(1) / (alpha - T(beta));
  for (int64_t i = row + 1; i < n; ++i) {
    if constexpr (kIsComplex<T>) {
      v.re[i] = column.re[i] * factor.re - column.im[i] * factor.im;
      v.im[i] = column.re[i] * factor.im + column.im[i] * factor.re;
    } else {
      v.re[i] = column.re[i] * factor;
    }
  }
  return is_nothing ? T(0) : (T(beta) - alpha) / T(beta);
}

template <class T>
void reduce(const Hermitian<T>& matrix, Real<T>* diagonal, Real<T>* beside, T* tau,
            Real<T>* memory) {
  using R = Real<T>;
  const int64_t n = matrix.rows;
  const Workspace<T> work(matrix, memory);
  // v and w are 0 at first, and exchange their places with the next vector and the sum.
  Change<R> change{work.vector(0), work.vector(1), work.vector(2), work.vector(3)};
  for (int64_t k = 0; k + 1 < n; ++k) {
    // Of the last change column k lacks its own.
    const Line<R> column = work.column(k);
    if (k > 0) {
      const Line<R> nothing = change.sum;
      std::fill_n(nothing.re, work.length(), R(0));
      if constexpr (kIsComplex<T>) std::fill_n(nothing.im, work.length(), R(0));
      std::fill_n(change.next.re, work.length(), R(0));
      if constexpr (kIsComplex<T>) std::fill_n(change.next.im, work.length(), R(0));
      change_columns<T, 1>(work, k, k, change);
    }
    diagonal[k] = column.re[k];
    tau[k] = reflection<T>(column, k + 1, n, change.next, beside + k);
    T* const vectors = matrix.a + k * matrix.step;
    for (int64_t i = k + 2; i < n; ++i) vectors[i] = element<T>(change.next, i);
    change_columns(work, k + 1, n, change);
    // w = tau A v - tau / 2 (tau A v)^H v v
    const Line<R> p = change.sum, v = change.next;
    for (int64_t i = 0; i < n; ++i) set<T>(p, i, i <= k ? T(0) : tau[k] * element<T>(p, i));
    const T share = T(R(-0.5)) * tau[k] * inner_product<T>(p, v, k + 1, n);
    for (int64_t i = k + 1; i < n; ++i) set<T>(p, i, element<T>(p, i) + share * element<T>(v, i));
    change = {v, p, change.v, change.w};
  }
  if (n > 0) {
    const int64_t k = n - 1;
    const T last = element<T>(work.column(k), k);
    const R v = n > 1 ? change.v.re[k] : R(0), w = n > 1 ? change.w.re[k] : R(0);
    diagonal[k] = real_part(last) - 2 * v * w;
    if constexpr (kIsComplex<T>)
      if (n > 1) diagonal[k] -= 2 * change.v.im[k] * change.w.im[k];
  }
}

}  // namespace

template <class T>
const TridiagonalForm<T>& tridiagonal_form() {
  static constexpr TridiagonalForm<T> kernels{&Workspace<T>::room, &reduce<T>};
  return kernels;
}

template const TridiagonalForm<float>& tridiagonal_form();
template const TridiagonalForm<double>& tridiagonal_form();
template const TridiagonalForm<complex<float>>& tridiagonal_form();
template const TridiagonalForm<complex<double>>& tridiagonal_form();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
