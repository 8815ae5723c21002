#include "cpu/lapack/lane_exponential.h"

#include <limits>

#include "cpu/lapack/lane_factors.h"
#include "cpu/lapack/lane_numbers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// So many elements of a row of a product.
template <int width, class E>
void multiply_row(int64_t n, const E* row, const E* right, E* to) {
  constexpr int64_t lanes = kMatrices<E>;
  Numbers<E> sums[width] = {};
  for (int64_t k = 0; k < n; ++k) {
    const Numbers<E> factor = read(row + k * lanes);
#pragma GCC unroll 4
    for (int j = 0; j < width; ++j)
      sums[j] = add<Real<E>>(factor, read(right + (k * n + j) * lanes), sums[j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < width; ++j) write(to + j * lanes, sums[j]);
}

template <class E>
void multiply(int64_t n, const E* left, const E* right, E* to) {
  constexpr int64_t lanes = kMatrices<E>;
  for (int64_t i = 0; i < n; ++i) {
    const E* const row = left + i * n * lanes;
    E* const result = to + i * n * lanes;
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) multiply_row<4>(n, row, right + j * lanes, result + j * lanes);
    for (; j < n; ++j) multiply_row<1>(n, row, right + j * lanes, result + j * lanes);
  }
}

/// Matrices of n rows, one after the other in `room`.
template <class E>
class Exponential {
 public:
  Exponential(const Approximant& approximant, int64_t n, E* a, E* room)
      : approximant_(approximant), n_(n), count_(n * n), a_(a), room_(room) {}

  void run() {
    separate(count_, a_);
    halve();
    approximate();
    const int most = *std::max_element(squarings_, squarings_ + kMatrices<E>);
    for (int done = 0; done < most; ++done) {
      multiply(n_, a_, a_, slot(0));
      const auto goes_on = counts_ > splat(static_cast<T>(done));
      for_each(
          [&](int64_t i) { write(a_ + i, choose<T>(goes_on, read(slot(0) + i), read(a_ + i))); });
    }
    const auto nothing = splat(std::numeric_limits<T>::quiet_NaN());
    for_each(
        [&](int64_t i) { write(a_ + i, choose<T>(is_finite_, read(a_ + i), number<E>(nothing))); });
    join(count_, a_);
  }

 private:
  using T = Real<E>;
  E* slot(int64_t i) const { return room_ + i * count_ * kMatrices<E>; }
  template <class Body>
  void for_each(const Body& body) const {
    for (int64_t i = 0; i < count_ * kMatrices<E>; i += kMatrices<E>) body(i);
  }

  /// As often as brings the norm, the greatest sum of a column, below the limit.
  void halve() {
    Vector<T> norm{};
    for (int64_t j = 0; j < n_; ++j) {
      Vector<T> sum{};
      for (int64_t i = 0; i < n_; ++i)
        sum += sum_of_parts<T>(read(a_ + (i * n_ + j) * kMatrices<E>));
      norm = (sum > norm) | (sum != sum) ? sum : norm;
    }
    is_finite_ = norm - norm == T(0);
    Vector<T> factor{};
    for (int l = 0; l < kMatrices<E>; ++l) {
      const double ratio = is_finite_[l] ? static_cast<double>(norm[l]) / approximant_.norm : 0.0;
      squarings_[l] = ratio > 1 ? static_cast<int>(std::ceil(std::log2(ratio))) : 0;
      factor[l] = static_cast<T>(std::ldexp(1.0, -squarings_[l]));
      counts_[l] = static_cast<T>(squarings_[l]);
    }
    for_each([&](int64_t i) { write(a_ + i, factor * read(a_ + i)); });
  }

  /// (even - a odd)^-1 (even + a odd), with polynomials of the square of a.
  void approximate() {
    E *const square = slot(1), *const even = slot(2), *const odd = slot(3);
    E *power = slot(1), *next = slot(4);
    const double* const coefficients = approximant_.coefficients;
    multiply(n_, a_, a_, square);
    const auto begin = [&](E* to, double factor) {
      for_each([&](int64_t i) { write(to + i, Numbers<E>{}); });
      for (int64_t i = 0; i < n_; ++i)
        write(to + i * (n_ + 1) * kMatrices<E>, number<E>(splat(static_cast<T>(factor))));
    };
    begin(even, coefficients[0]);
    begin(odd, coefficients[1]);
    const auto add_power = [&](E* to, double factor) {
      const Vector<T> part = splat(static_cast<T>(factor));
      for_each([&](int64_t i) { write(to + i, read(to + i) + part * read(power + i)); });
    };
    for (int k = 2; k <= approximant_.degree; k += 2) {
      add_power(even, coefficients[k]);
      add_power(odd, coefficients[k + 1]);
      if (k + 2 > approximant_.degree) break;
      multiply(n_, power, square, next);
      power = next;
      next = power == slot(4) ? slot(5) : slot(4);
    }
    E *const divisor = slot(0), *const product = slot(1);
    multiply(n_, a_, odd, product);
    for_each([&](int64_t i) {
      const Numbers<E> one = read(even + i), other = read(product + i);
      write(divisor + i, one - other);
      write(a_ + i, one + other);
    });
    join(count_, divisor);
    join(count_, a_);
    int swaps[kTiny * kMatrices<E>], failed[kMatrices<E>];
    const LaneFactors<E>& kernels = lane_factors<E>();
    kernels.factor(n_, n_, divisor, swaps, failed);
    kernels.solve(false, n_, n_, divisor, swaps, a_);
    separate(count_, a_);
  }

  const Approximant& approximant_;
  int64_t n_, count_;
  E *a_, *room_;
  int squarings_[kMatrices<E>];
  Vector<T> counts_;
  decltype(Vector<T>{} > Vector<T>{}) is_finite_;
};

template <class E>
void run(const Approximant& approximant, int64_t n, E* a, E* room) {
  Exponential<E>(approximant, n, a, room).run();
}

}  // namespace

template <class T>
const LaneExponential<T>& lane_exponential() {
  static constexpr LaneExponential<T> kernels{kMatrices<T>, &run<T>};
  return kernels;
}
template const LaneExponential<float>& lane_exponential();
template const LaneExponential<double>& lane_exponential();
template const LaneExponential<complex<float>>& lane_exponential();
template const LaneExponential<complex<double>>& lane_exponential();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
