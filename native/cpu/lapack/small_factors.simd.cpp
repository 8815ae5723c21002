#include "cpu/lapack/small_factors.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "cpu/lapack/numbers.h"
#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The row, from `first` on, of the largest element; `first` where that is no number.
template <class T>
int64_t pivot_of(int64_t first, int64_t rows, const T* column) {
  auto largest = size_of(column[first]);
#pragma omp simd reduction(max : largest)
  for (int64_t i = first; i < rows; ++i) {
    const auto size = size_of(column[i]);
    largest = size > largest ? size : largest;
  }
  for (int64_t i = first; i < rows; ++i)
    if (size_of(column[i]) == largest) return i;
  return first;
}

template <class T>
void divide(int64_t first, int64_t rows, T divisor, T* column) {
#pragma omp simd
  for (int64_t i = first; i < rows; ++i) column[i] = column[i] / divisor;
}
/// By the reciprocal, as LAPACK does, where that is no subnormal number or infinite.
template <class T>
void divide(int64_t first, int64_t rows, complex<T> divisor, complex<T>* column) {
  const complex<T> factor = complex<T>(1) / divisor;
  const T size = size_of(factor);
  if (size >= std::numeric_limits<T>::min() && size <= std::numeric_limits<T>::max()) {
#pragma omp simd
    for (int64_t i = first; i < rows; ++i) column[i] = column[i] * factor;
  } else {
    for (int64_t i = first; i < rows; ++i) column[i] = column[i] / divisor;
  }
}

template <class T>
int factor(int64_t rows, int64_t columns, T* a, int64_t step, int* swaps) {
  int failed = 0;
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    T* const column = a + k * step;
    const int64_t pivot = pivot_of(k, rows, column);
    swaps[k] = static_cast<int>(pivot + 1);
    if (column[pivot] == T(0)) {
      if (failed == 0) failed = static_cast<int>(k + 1);
      continue;
    }
    if (pivot != k)
      for (int64_t j = 0; j < columns; ++j) std::swap(a[k + j * step], a[pivot + j * step]);
    divide(k + 1, rows, column[k], column);
    for (int64_t j = k + 1; j < columns; ++j)
      subtract(k + 1, rows, a[k + j * step], column, a + j * step);
  }
  return failed;
}

/// The sum of conj(x[i]) y[i].
template <class T>
T inner_product(int64_t count, const T* x, const T* y) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}
template <class T>
complex<T> inner_product(int64_t count, const complex<T>* x, const complex<T>* y) {
  T re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
  for (int64_t i = 0; i < count; ++i) {
    re += x[i].re * y[i].re + x[i].im * y[i].im;
    im += x[i].re * y[i].im - x[i].im * y[i].re;
  }
  return {re, im};
}

/// The Euclidean norm, which neither overflows nor vanishes before its time.
double norm_of(int64_t count, const float* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(sum);
}
double norm_of(int64_t count, const double* x) {
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < count; ++i) squares += x[i] * x[i];
  // What vanished among these is nothing beside them.
  if (squares > 0x1p-900 && squares <= std::numeric_limits<double>::max())
    return std::sqrt(squares);
  double largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!(std::abs(x[i]) <= largest)) largest = std::abs(x[i]);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  const double unit = std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += x[i] * unit * (x[i] * unit);
  return std::sqrt(sum) / unit;
}
template <class T>
double norm_of(int64_t count, const complex<T>* x) {
  return norm_of(2 * count, reinterpret_cast<const T*>(x));
}

/// Below this, numbers have too few digits for a reflection.
template <class Real>
constexpr Real kSafe = std::numeric_limits<Real>::min() / std::numeric_limits<Real>::epsilon();

/// The factor of the reflection that leaves of a column its first element alone, which becomes its
/// norm with the opposite sign, and the rest what the reflection's vector has after a 1.
template <class T>
T make_reflection(int64_t count, T* x) {
  using Real = Size<T>;
  const double rest = norm_of(count - 1, x + 1);
  if (rest == 0 && x[0] == T(real_part(x[0]))) return T(0);
  const double norm = std::hypot(norm_of(1, x), rest);
  if (norm < static_cast<double>(kSafe<Real>)) {
    constexpr Real up = 1 / kSafe<Real>;
    for (int64_t i = 0; i < count; ++i) x[i] = x[i] * T(up);
    const T factor = make_reflection(count, x);
    x[0] = x[0] * T(kSafe<Real>);
    return factor;
  }
  const Real size = real_part(x[0]), beta = static_cast<Real>(std::signbit(size) ? norm : -norm);
  T factor;
  if constexpr (std::is_floating_point_v<T>)
    factor = (beta - x[0]) / beta;
  else
    factor = {(beta - x[0].re) / beta, -x[0].im / beta};
  const T shift = x[0] - T(beta);
  x[0] = T(beta);
#pragma omp simd
  for (int64_t i = 1; i < count; ++i) x[i] = x[i] / shift;
  return factor;
}

/// The reflection of a vector that begins with a 1, which is not there, by conj(tau).
template <class T>
FLAMBEAU_INLINE void apply_reflection(int64_t count, const T* vector, T tau, T* other) {
  const T along = other[0] + inner_product(count - 1, vector + 1, other + 1);
  const T factor = conjugate(tau) * along;
  other[0] = other[0] - factor;
  subtract(1, count, factor, vector, other);
}

/// The same of so many columns; four at a time, or two of complex numbers, as sums wait for each
/// other.
template <class T>
void apply_reflection(int64_t count, const T* vector, T tau, T* others, int64_t columns,
                      int64_t step) {
  int64_t j = 0;
  if constexpr (std::is_floating_point_v<T>) {
    for (; j + 4 <= columns; j += 4) {
      T *const a = others + j * step, *const b = a + step, *const c = b + step, *const d = c + step;
      T first = a[0], second = b[0], third = c[0], fourth = d[0];
#pragma omp simd reduction(+ : first, second, third, fourth)
      for (int64_t i = 1; i < count; ++i) {
        first += vector[i] * a[i];
        second += vector[i] * b[i];
        third += vector[i] * c[i];
        fourth += vector[i] * d[i];
      }
      const T along[] = {tau * first, tau * second, tau * third, tau * fourth};
      for (int64_t k = 0; k < 4; ++k) {
        T* const other = a + k * step;
        other[0] -= along[k];
        subtract(1, count, along[k], vector, other);
      }
    }
  }
  if constexpr (!std::is_floating_point_v<T>) {
    for (; j + 2 <= columns; j += 2) {
      T *const a = others + j * step, *const b = a + step;
      Size<T> a_re = a[0].re, a_im = a[0].im, b_re = b[0].re, b_im = b[0].im;
#pragma omp simd reduction(+ : a_re, a_im, b_re, b_im)
      for (int64_t i = 1; i < count; ++i) {
        const T x = vector[i];
        a_re += x.re * a[i].re + x.im * a[i].im;
        a_im += x.re * a[i].im - x.im * a[i].re;
        b_re += x.re * b[i].re + x.im * b[i].im;
        b_im += x.re * b[i].im - x.im * b[i].re;
      }
      const T first = conjugate(tau) * T(a_re, a_im), second = conjugate(tau) * T(b_re, b_im);
      a[0] = a[0] - first;
      b[0] = b[0] - second;
#pragma omp simd
      for (int64_t i = 1; i < count; ++i) {
        a[i] = a[i] - first * vector[i];
        b[i] = b[i] - second * vector[i];
      }
    }
  }
  for (; j < columns; ++j) apply_reflection(count, vector, tau, others + j * step);
}

template <class T>
void inner_products(int64_t rows, int64_t columns, const T* a, int64_t step, const T* x,
                    T* products) {
  int64_t j = 0;
  if constexpr (std::is_floating_point_v<T>) {
    for (; j + 4 <= columns; j += 4) {
      const T *const p = a + j * step, *const q = p + step, *const r = q + step,
                     *const s = r + step;
      T first = 0, second = 0, third = 0, fourth = 0;
#pragma omp simd reduction(+ : first, second, third, fourth)
      for (int64_t i = 0; i < rows; ++i) {
        first += x[i] * p[i];
        second += x[i] * q[i];
        third += x[i] * r[i];
        fourth += x[i] * s[i];
      }
      products[j] = first;
      products[j + 1] = second;
      products[j + 2] = third;
      products[j + 3] = fourth;
    }
  }
  for (; j < columns; ++j) products[j] = inner_product(rows, a + j * step, x);
}

/// Takes a reflection out of so many columns, each its factor times `vector`, and finds the factors
/// of the next one, in one pass. All begin in the row where the vector has its 1.
template <int count, class T>
void take_out(int64_t rows, const T* vector, const T* next, T tau, T* x, int64_t step, T* factors) {
  Vector<T> sums[count] = {}, less[count];
  T tops[count];
#pragma GCC unroll 4
  for (int c = 0; c < count; ++c) {
    T* const column = x + c * step;
    column[0] -= factors[c];
    tops[c] = column[1] -= factors[c] * vector[1];
    less[c] = splat(-factors[c]);
  }
  int64_t whole = 2;
  for (; whole + kLanes<T> <= rows; whole += kLanes<T>) {
    const Vector<T> taken = load(vector + whole), further = load(next + whole);
#pragma GCC unroll 4
    for (int c = 0; c < count; ++c) {
      T* const place = x + c * step + whole;
      const Vector<T> left = multiply_add<T>(less[c], taken, load(place));
      store(place, left);
      sums[c] = multiply_add<T>(further, left, sums[c]);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < count; ++c) {
    T sum = tops[c];
    for (int l = 0; l < kLanes<T>; ++l) sum += sums[c][l];
    for (int64_t i = whole; i < rows; ++i) {
      T& element = x[c * step + i];
      element -= factors[c] * vector[i];
      sum += next[i] * element;
    }
    factors[c] = tau * sum;
  }
}

template <std::floating_point T>
void reflect(int64_t rows, int64_t columns, T* a, int64_t step, T* tau) {
  const int64_t most = std::min(rows, columns);
  if (most == 0) return;
  T factors[kPanel];
  tau[0] = make_reflection(rows, a);
  inner_products(rows - 1, columns - 1, a + step + 1, step, a + 1, factors + 1);
  for (int64_t j = 1; j < columns; ++j) factors[j] = tau[0] * (factors[j] + a[j * step]);
  for (int64_t k = 0; k < most; ++k) {
    const T* const vector = a + k * (step + 1);
    T* const next = a + (k + 1) * step + k;
    // The last reflection is followed by none.
    const int64_t alone = k + 1 < most ? 1 : columns - k - 1;
    for (int64_t j = 0; j < alone; ++j) {
      T* const column = next + j * step;
      column[0] -= factors[k + 1 + j];
      subtract(1, rows - k, factors[k + 1 + j], vector, column);
    }
    if (k + 1 == most) return;
    tau[k + 1] = make_reflection(rows - k - 1, next + 1);
    int64_t j = k + 2;
    for (; j + 4 <= columns; j += 4)
      take_out<4>(rows - k, vector, next, tau[k + 1], a + j * step + k, step, factors + j);
    for (; j < columns; ++j)
      take_out<1>(rows - k, vector, next, tau[k + 1], a + j * step + k, step, factors + j);
  }
}
template <class T>
void reflect(int64_t rows, int64_t columns, T* a, int64_t step, T* tau) {
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    T* const vector = a + k * step + k;
    tau[k] = make_reflection(rows - k, vector);
    apply_reflection(rows - k, vector, tau[k], vector + step, columns - k - 1, step);
  }
}

template <class T>
void apply(const ReflectedColumns<T>& c) {
  for (int64_t done = 0; done < c.count; ++done) {
    const int64_t k = c.adjoint ? done : c.count - 1 - done;
    apply_reflection(c.rows - k, c.vectors + k * (c.vectors_step + 1),
                     c.adjoint ? c.tau[k] : conjugate(c.tau[k]), c.c + k, c.columns, c.step);
  }
}

/// The square of the norm of what follows the first element, from that of all; added up anew where
/// digits are lost (Z. Drmac and Z. Bujanovic, On the Failure of Rank-Revealing QR Factorization
/// Software, 2008).
template <class T>
void shorten_norm(int64_t count, const T* column, double& norm, double& exact) {
  static const double least = std::sqrt(std::numeric_limits<Size<T>>::epsilon());
  if (norm == 0) return;
  const double re = real_part(column[0]), im = imaginary_part(column[0]);
  const double left = std::max(0.0, norm - (re * re + im * im));
  if (left > least * exact) {
    norm = left;
  } else {
    const double length = norm_of(count - 1, column + 1);
    norm = exact = length * length;
  }
}

template <class T>
void reflect_greatest(const PivotedColumns<T>& c, int64_t k) {
  const int64_t count = c.rows - k;
  for (int64_t j = 0; k == 0 && j < c.columns; ++j) {
    c.places[j] = j;
    const double norm = norm_of(count, c.a + j * c.step);
    c.norms[j] = c.exact[j] = norm * norm;
  }
  const int64_t greatest = std::max_element(c.norms + k, c.norms + c.columns) - c.norms;
  if (greatest != k) {
    T* const column = c.a + k * c.step;
    std::swap_ranges(column, column + c.rows, c.a + greatest * c.step);
    std::swap(c.places[k], c.places[greatest]);
    c.norms[greatest] = c.norms[k];
    c.exact[greatest] = c.exact[k];
  }
  T* const vector = c.a + k * c.step + k;
  c.tau[k] = make_reflection(count, vector);
  apply_reflection(count, vector, c.tau[k], vector + c.step, c.columns - k - 1, c.step);
  for (int64_t j = k + 1; j < c.columns; ++j)
    shorten_norm(count, c.a + j * c.step + k, c.norms[j], c.exact[j]);
}

}  // namespace

template <class T>
const SmallFactors<T>& small_factors() {
  static constexpr SmallFactors<T> kernels{
      &factor<T>, &reflect<T>, &reflect_greatest<T>, &make_reflection<T>, &inner_products<T>,
      &norm_of,   &apply<T>};
  return kernels;
}
template const SmallFactors<float>& small_factors();
template const SmallFactors<double>& small_factors();
template const SmallFactors<complex<float>>& small_factors();
template const SmallFactors<complex<double>>& small_factors();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
