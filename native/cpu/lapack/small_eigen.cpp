#include "cpu/lapack/small_eigen.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace flambeau::cpu::lapack {
namespace {

constexpr double kSmall = std::numeric_limits<double>::epsilon();
constexpr int kMostSteps = 60;  // of one value; two or three are enough
constexpr int kStuck = 10;      // after so many a step is made with another shift

template <class T>
constexpr bool kIsReal = std::is_same_v<T, double>;

double size_of(double x) { return std::abs(x); }
double size_of(complex<double> x) { return std::abs(x.re) + std::abs(x.im); }
double square_of(double x) { return x * x; }
double square_of(complex<double> x) { return x.re * x.re + x.im * x.im; }
double conjugate(double x) { return x; }
complex<double> conjugate(complex<double> x) { return {x.re, -x.im}; }
double magnitude(double x) { return std::abs(x); }
double magnitude(complex<double> x) { return std::sqrt(square_of(x)); }  // neither huge nor tiny
complex<double> scaled(double factor, complex<double> x) { return {factor * x.re, factor * x.im}; }
complex<double> scaled(complex<double> factor, complex<double> x) { return factor * x; }

double root_of(double x) { return std::sqrt(x); }
complex<double> root_of(complex<double> x) {
  const std::complex<double> root = std::sqrt(std::complex<double>(x.re, x.im));
  return {root.real(), root.imag()};
}

/// I - factor v v^H, which leaves of a few numbers the first one alone.
template <class T>
struct Reflection {
  double factor = 0;
  T v[16];

  /// What becomes of the first number is returned.
  T make(int64_t count, const T* numbers) {
    double rest = 0;
    for (int64_t i = 1; i < count; ++i) rest += square_of(numbers[i]);
    std::copy_n(numbers, count, v);
    factor = 0;
    if (rest == 0) return numbers[0];
    const double first = magnitude(numbers[0]), norm = std::sqrt(rest + first * first);
    const T phase = first == 0 ? T(1) : numbers[0] * T(1 / first);
    v[0] = numbers[0] + phase * T(norm);
    factor = 1 / (norm * (norm + first));
    return -(phase * T(norm));
  }
  /// What becomes of so many columns, which have a row every `step` numbers. `known`: how many rows
  /// these are, 0: as many as are asked for.
  template <int known>
  void from_left(int64_t count, T* x, int64_t step, int64_t columns) const {
    apply<known>(count, x, step, columns, [](T element) { return element; });
  }
  /// Of the transpose of what is multiplied from the right.
  template <int known>
  void from_right_turned(int64_t count, T* x, int64_t step, int64_t columns) const {
    apply<known>(count, x, step, columns, [](T element) { return conjugate(element); });
  }
  /// Of so many rows, `step` numbers from each other.
  template <int known>
  void from_right(int64_t count, T* x, int64_t step, int64_t rows) const {
    const int64_t n = known > 0 ? known : count;
    for (const T* const end = x + rows * step; x != end; x += step) {
      T sum(0);
      for (int64_t i = 0; i < n; ++i) sum += x[i] * v[i];
      sum = sum * T(factor);
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] - sum * conjugate(v[i]);
    }
  }

 private:
  template <int known, class Turn>
  void apply(int64_t count, T* x, int64_t step, int64_t columns, const Turn& turned) const {
    const int64_t n = known > 0 ? known : count;
    T sums[16];
    for (int64_t j = 0; j < columns; ++j) sums[j] = T(0);
    for (int64_t i = 0; i < n; ++i) {
      const T element = conjugate(turned(v[i])) * T(factor);
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) sums[j] = sums[j] + element * x[i * step + j];
    }
    for (int64_t i = 0; i < n; ++i) {
      const T element = turned(v[i]);
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) x[i * step + j] = x[i * step + j] - sums[j] * element;
    }
  }
};

}  // namespace

template <class T>
SmallEigen<T>::SmallEigen(int64_t n, bool with_vectors)
    : n_(n),
      with_vectors_(with_vectors),
      h_(static_cast<size_t>(n * n)),
      q_(static_cast<size_t>(with_vectors ? n * n : 0)),
      scales_(static_cast<size_t>(n)),
      order_(static_cast<size_t>(n)),
      values_(static_cast<size_t>(n)),
      vectors_(static_cast<size_t>(with_vectors ? n * n : 0)) {}

template <class T>
bool SmallEigen<T>::find() {
  double largest = 0;
  for (const T& x : h_) largest = std::max(largest, size_of(x));
  // Squares and sums must neither overflow nor vanish.
  const int exponent =
      largest == 0 || std::abs(std::ilogb(largest)) < 300 ? 0 : std::ilogb(largest);
  if (exponent != 0) {
    for (T& x : h_) {
      if constexpr (kIsReal<T>) {
        x = std::ldexp(x, -exponent);
      } else {
        x = {std::ldexp(x.re, -exponent), std::ldexp(x.im, -exponent)};
      }
    }
  }
  balance();
  size_ = std::numeric_limits<double>::min() / kSmall;
  for (const T& x : h_) size_ += size_of(x);
  reduce();
  if (!make_triangular()) return false;
  take_values();
  if (with_vectors_) find_vectors();
  for (Complex& value : values_)
    value = {std::ldexp(value.re, exponent), std::ldexp(value.im, exponent)};
  return true;
}

/// Rows and columns are exchanged so that the matrix is triangular but for some in the middle,
/// which are scaled by powers of two until the norms of each row and column are alike.
template <class T>
void SmallEigen<T>::balance() {
  for (int64_t i = 0; i < n_; ++i) {
    order_[static_cast<size_t>(i)] = i;
    scales_[static_cast<size_t>(i)] = 1;
  }
  int64_t begin = 0, end = n_;
  const auto is_alone = [&](int64_t i, bool by_row) {
    for (int64_t j = begin; j < end; ++j)
      if (j != i && (by_row ? h(i, j) : h(j, i)) != T(0)) return false;
    return true;
  };
  const auto find_alone = [&](bool by_row) {
    for (int64_t done = begin; done < end; ++done) {
      const int64_t i = by_row ? begin + end - 1 - done : done;
      if (!is_alone(i, by_row)) continue;
      exchange(i, by_row ? --end : begin++);
      return true;
    }
    return false;
  };
  for (const bool by_row : {true, false})
    while (find_alone(by_row)) continue;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (int64_t i = begin; i < end; ++i) {
      double column = 0, row = 0;
      for (int64_t j = begin; j < end; ++j) {
        column += square_of(h(j, i));
        row += square_of(h(i, j));
      }
      if (column == 0 || row == 0) continue;
      column = std::sqrt(column);
      row = std::sqrt(row);
      const double before = column + row;
      double scale = 1;
      for (; column < row / 2; column *= 2, row /= 2) scale *= 2;
      for (; column / 2 >= row; column /= 2, row *= 2) scale /= 2;
      if (column + row >= 0.95 * before) continue;
      goes_on = true;
      scales_[static_cast<size_t>(i)] *= scale;
      for (int64_t j = 0; j < n_; ++j) h(i, j) = h(i, j) * T(1 / scale);
      for (int64_t j = 0; j < n_; ++j) h(j, i) = h(j, i) * T(scale);
    }
  }
}

template <class T>
void SmallEigen<T>::exchange(int64_t one, int64_t other) {
  if (one == other) return;
  for (int64_t j = 0; j < n_; ++j) std::swap(h(one, j), h(other, j));
  for (int64_t i = 0; i < n_; ++i) std::swap(h(i, one), h(i, other));
  std::swap(order_[static_cast<size_t>(one)], order_[static_cast<size_t>(other)]);
}

/// Zeros below the elements beside the diagonal.
template <class T>
void SmallEigen<T>::reduce() {
  std::fill(q_.begin(), q_.end(), T(0));
  for (int64_t i = 0; with_vectors_ && i < n_; ++i) q(i, i) = T(1);
  for (int64_t k = 0; k + 2 < n_; ++k) {
    const int64_t count = n_ - k - 1;
    T numbers[16];
    for (int64_t i = 0; i < count; ++i) numbers[i] = h(k + 1 + i, k);
    Reflection<T> reflection;
    h(k + 1, k) = reflection.make(count, numbers);
    for (int64_t i = k + 2; i < n_; ++i) h(i, k) = T(0);
    if (reflection.factor == 0) continue;
    reflection.template from_left<0>(count, &h(k + 1, k + 1), n_, n_ - k - 1);
    reflection.template from_right<0>(count, &h(0, k + 1), n_, n_);
    if (with_vectors_) reflection.template from_right_turned<0>(count, &q(0, k + 1), n_, n_);
  }
}

template <class T>
bool SmallEigen<T>::make_triangular() {
  int count = 0;
  for (int64_t last = n_ - 1; last >= 0;) {
    const int64_t first = first_coupled(last);
    if (first == last || (kIsReal<T> && first == last - 1)) {
      if (first < last) split_pair(last);
      last = first - 1;
      count = 0;
    } else {
      if (count == kMostSteps) return false;
      step(first, last, ++count);
    }
  }
  return true;
}

/// The first row of the block of row `last`, which has no zeros below its diagonal.
template <class T>
int64_t SmallEigen<T>::first_coupled(int64_t last) {
  for (int64_t i = last; i > 0; --i) {
    double beside = size_of(h(i - 1, i - 1)) + size_of(h(i, i));
    if (beside == 0) beside = size_;
    if (size_of(h(i, i - 1)) > kSmall * beside) continue;
    h(i, i - 1) = T(0);
    return i;
  }
  return 0;
}

/// A block of two rows becomes triangular, where its values are real.
template <>
void SmallEigen<double>::split_pair(int64_t last) {
  const int64_t first = last - 1;
  const double b = h(first, last), c = h(last, first), d = h(last, last);
  const double half = (h(first, first) - d) / 2, square = half * half + b * c;
  if (square < 0) return;
  const double shift = half + std::copysign(std::sqrt(square), half);
  const double norm = std::hypot(shift, c), cosine = shift / norm, sine = c / norm;
  const auto turn = [&](double& x, double& y) {
    const double one = x, other = y;
    x = cosine * one + sine * other;
    y = cosine * other - sine * one;
  };
  for (int64_t j = first; j < n_; ++j) turn(h(first, j), h(last, j));
  for (int64_t i = 0; i <= last; ++i) turn(h(i, first), h(i, last));
  for (int64_t i = 0; with_vectors_ && i < n_; ++i) turn(q(i, first), q(i, last));
  h(first, first) = d + shift;
  h(last, last) = shift == 0 ? d : d - b * c / shift;
  h(last, first) = 0;
}
template <class T>
void SmallEigen<T>::split_pair(int64_t) {}

/// With both shifts of the last two rows at once, so that numbers stay real: what that does to the
/// first column is chased down the diagonal.
template <>
void SmallEigen<double>::step(int64_t first, int64_t last, int count) {
  const int64_t end = with_vectors_ ? n_ : last + 1, begin = with_vectors_ ? 0 : first;
  double x = h(last, last), y = h(last - 1, last - 1), w = h(last, last - 1) * h(last - 1, last);
  if (count % kStuck == 0) {
    const double size = std::abs(h(last, last - 1)) + std::abs(h(last - 1, last - 2));
    x = y = x + 0.75 * size;
    w = -0.4375 * size * size;
  }
  const double half = (y - x) / 2, square = half * half + w;
  if (square >= 0) {  // of real shifts twice the one that is nearer
    const double larger = half + std::copysign(std::sqrt(square), half);
    x = y = larger == 0 ? x : x - w / larger;
    w = 0;
  }
  double numbers[3];
  int64_t top = last - 2;
  for (;; --top) {  // elements beside the diagonal may be so small that nothing above is changed
    const double z = h(top, top), r = x - z, s = y - z;
    numbers[0] = (r * s - w) / h(top + 1, top) + h(top, top + 1);
    numbers[1] = h(top + 1, top + 1) - z - r - s;
    numbers[2] = h(top + 2, top + 1);
    const double size = std::abs(numbers[0]) + std::abs(numbers[1]) + std::abs(numbers[2]);
    for (double& number : numbers) number /= size;
    if (top == first) break;
    const double reach = std::abs(h(top, top - 1)) * (std::abs(numbers[1]) + std::abs(numbers[2]));
    const double beside =
        std::abs(h(top - 1, top - 1)) + std::abs(z) + std::abs(h(top + 1, top + 1));
    if (reach <= kSmall * std::abs(numbers[0]) * beside) break;
  }
  for (int64_t k = top; k < last; ++k) {
    const int64_t rows = std::min<int64_t>(3, last - k + 1);
    for (int64_t i = 0; k > top && i < rows; ++i) numbers[i] = h(k + i, k - 1);
    Reflection<double> reflection;
    const double found = reflection.make(rows, numbers);
    if (k > top) {
      h(k, k - 1) = found;
      for (int64_t i = 1; i < rows; ++i) h(k + i, k - 1) = 0;
    } else if (top > first) {
      h(k, k - 1) *= 1 - reflection.factor * reflection.v[0] * reflection.v[0];
    }
    const int64_t below = std::min(last, k + 3) + 1;
    const auto apply = [&]<int known>() {
      reflection.from_left<known>(rows, &h(k, k), n_, end - k);
      reflection.from_right<known>(rows, &h(begin, k), n_, below - begin);
      if (with_vectors_) reflection.from_right_turned<known>(rows, &q(0, k), n_, n_);
    };
    rows == 3 ? apply.operator()<3>() : apply.operator()<2>();
  }
}
/// With the shift of the last two rows that is nearer to the last element, as Q R, then R Q.
template <class T>
void SmallEigen<T>::step(int64_t first, int64_t last, int count) {
  const int64_t end = with_vectors_ ? n_ : last + 1, begin = with_vectors_ ? 0 : first;
  const T half = (h(last - 1, last - 1) - h(last, last)) * T(0.5);
  const T product = h(last - 1, last) * h(last, last - 1);
  const T root = root_of(half * half + product), sum = half + root, difference = half - root;
  const T larger = square_of(sum) > square_of(difference) ? sum : difference;
  T shift = larger == T(0) ? h(last, last) : h(last, last) - product / larger;
  if (count % kStuck == 0) shift = h(last, last) + T(0.75 * size_of(h(last, last - 1)));
  for (int64_t i = first; i <= last; ++i) h(i, i) = h(i, i) - shift;
  Reflection<T> reflections[16];
  for (int64_t k = first; k < last; ++k) {
    Reflection<T>& reflection = reflections[k - first];
    const T numbers[] = {h(k, k), h(k + 1, k)};
    h(k, k) = reflection.make(2, numbers);
    h(k + 1, k) = T(0);
    reflection.template from_left<2>(2, &h(k, k + 1), n_, end - k - 1);
  }
  for (int64_t k = first; k < last; ++k) {
    const Reflection<T>& reflection = reflections[k - first];
    reflection.template from_right<2>(2, &h(begin, k), n_, k + 2 - begin);
    if (with_vectors_) reflection.template from_right_turned<2>(2, &q(0, k), n_, n_);
  }
  for (int64_t i = first; i <= last; ++i) h(i, i) = h(i, i) + shift;
}

template <class T>
void SmallEigen<T>::take_values() {
  for (int64_t i = 0; i < n_; ++i) values_[static_cast<size_t>(i)] = Complex(h(i, i));
  if constexpr (kIsReal<T>) {
    for (int64_t i = 0; i + 1 < n_; ++i) {
      if (h(i + 1, i) == 0) continue;
      const double half = (h(i, i) - h(i + 1, i + 1)) / 2;
      const double square = half * half + h(i, i + 1) * h(i + 1, i);
      const Complex value(h(i + 1, i + 1) + half, std::sqrt(-square));
      values_[static_cast<size_t>(i)] = value;
      values_[static_cast<size_t>(++i)] = conjugate(value);
    }
  }
}

template <class T>
void SmallEigen<T>::find_vectors() {
  T x[16];
  Complex found[16];
  for (int64_t j = n_ - 1; j >= 0; --j) {
    std::fill_n(found, n_, Complex(0));
    if (kIsReal<T> && j > 0 && h(j, j - 1) != T(0)) {
      if constexpr (kIsReal<T>) {
        const Complex value = values_[static_cast<size_t>(j - 1)];
        const bool is_below = std::abs(h(j, j - 1)) >= std::abs(h(j - 1, j));
        found[j - 1] = is_below ? (value - Complex(h(j, j))) / Complex(h(j, j - 1)) : Complex(1);
        found[j] =
            is_below ? Complex(1) : (value - Complex(h(j - 1, j - 1))) / Complex(h(j - 1, j));
        find_vector(j - 1, value, found);
        write_vector(j - 1, j, found);
        for (int64_t i = 0; i < n_; ++i) {
          const auto at = static_cast<size_t>(j * n_ + i);
          vectors_[at] = conjugate(vectors_[at - static_cast<size_t>(n_)]);
        }
      }
      --j;
      continue;
    }
    std::fill_n(x, n_, T(0));
    x[j] = T(1);
    find_vector(j, h(j, j), x);
    for (int64_t i = 0; i <= j; ++i) found[i] = Complex(x[i]);
    write_vector(j, j, found);
  }
}

/// The elements of the vector of a value of the triangular matrix in front of `last`; those from
/// there on are known.
template <class T>
template <class N>
void SmallEigen<T>::find_vector(int64_t last, N value, N* x) {
  constexpr double kLarge = 1e100;
  const double least = kSmall * size_;
  // What another value that is the same would divide by.
  const auto safe = [](N divisor, double smallest) {
    return size_of(divisor) < smallest ? N(smallest) : divisor;
  };
  const auto rest = [&](int64_t i, int64_t first) {
    N sum(0);
    for (int64_t j = first; j < n_; ++j) sum = sum - N(h(i, j)) * x[j];
    return sum;
  };
  for (int64_t i = last - 1; i >= 0; --i) {
    if (kIsReal<T> && i > 0 && h(i, i - 1) != T(0)) {
      const N one = rest(i - 1, i + 1), other = rest(i, i + 1);
      const N a = N(h(i - 1, i - 1)) - value, b(h(i - 1, i)), c(h(i, i - 1)),
              d = N(h(i, i)) - value;
      const N determinant = safe(a * d - b * c, least * least);
      x[i - 1] = (one * d - b * other) / determinant;
      x[i] = (a * other - c * one) / determinant;
      --i;
    } else {
      x[i] = rest(i, i + 1) / safe(N(h(i, i)) - value, least);
    }
    const double size = std::max(size_of(x[i]), size_of(x[i + 1]));
    if (size > kLarge)
      for (int64_t j = i; j < n_; ++j) x[j] = x[j] * N(1 / size);
  }
}

/// Of the matrix as it was given, where its greatest element is real. x ends with element `last`.
template <class T>
void SmallEigen<T>::write_vector(int64_t column, int64_t last, const Complex* x) {
  Complex* const to = vectors_.data() + column * n_;
  double greatest = 0;
  for (int64_t i = 0; i < n_; ++i) {
    Complex sum(0);
    for (int64_t j = 0; j <= last; ++j) sum += scaled(q(i, j), x[j]);
    const auto at = static_cast<size_t>(i);
    to[order_[at]] = scaled(scales_[at], sum);
    greatest = std::max(greatest, size_of(to[order_[at]]));
  }
  double squares = 0;
  int64_t place = 0;
  for (int64_t i = 0; i < n_; ++i) {
    to[i] = scaled(1 / greatest, to[i]);
    squares += square_of(to[i]);
    if (square_of(to[i]) > square_of(to[place])) place = i;
  }
  const double norm = std::sqrt(squares), size = magnitude(to[place]);
  const bool is_real = to[place].im == 0;
  const Complex turn =
      is_real ? Complex(1 / norm) : conjugate(to[place]) * Complex(1 / size / norm);
  for (int64_t i = 0; i < n_; ++i) to[i] = to[i] * turn;
  to[place].im = 0;
}

template class SmallEigen<double>;
template class SmallEigen<complex<double>>;

}  // namespace flambeau::cpu::lapack
