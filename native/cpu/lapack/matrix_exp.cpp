#include <cmath>
#include <span>

#include "core/threads/interrupt.h"
#include "cpu/lapack/blocks.h"
#include "cpu/lapack/lane_exponential.h"
#include "cpu/lapack/lanes.h"
#include "cpu/linalg/gemm.h"
#include "kernels/linalg_functions.h"

// N. J. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005: a Padé
// approximant whose degree follows from the norm, of a matrix that is halved until the norm is
// small enough, and squared again as often.

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// A degree, and the norm up to which it is exact to rounding (table 2.3).
struct Degree {
  int degree;
  double norm;
};
constexpr Degree kOfFloat[] = {
    {3, 4.258730016922831e-1}, {5, 1.880152677804762}, {7, 3.925724783138660}};
constexpr Degree kOfDouble[] = {{3, 1.495585217958292e-2},
                                {5, 2.539398330063230e-1},
                                {7, 9.504178996162932e-1},
                                {9, 2.097847961257068},
                                {13, 5.371920351148152}};
template <class T>
std::span<const Degree> degrees() {
  if constexpr (std::is_same_v<Real<T>, double>) {
    return kOfDouble;
  } else {
    return kOfFloat;
  }
}

/// Of the numerator, from the lowest power on: (2m - k)! m! / ((2m)! (m - k)! k!).
std::vector<double> coefficients(int degree) {
  std::vector<double> found = {1.0};
  for (int k = 0; k < degree; ++k) {
    found.push_back(found.back() * (degree - k) / ((2.0 * degree - k) * (k + 1)));
  }
  return found;
}

/// Square matrices of one size, by rows; every one is a polynomial of the same matrix, so that they
/// commute, and it does not matter that LAPACK takes them for their transposes.
template <class T>
class Exponential {
 public:
  explicit Exponential(int64_t n) : n_(n), memory_(static_cast<size_t>(8 * n * n)) {}

  void operator()(const Matrix<const T>& from, const Matrix<T>& to) {
    copy<T>(from, matrix(a()));
    const double norm = norm_of(a());
    if (!std::isfinite(norm)) return fill(to, std::numeric_limits<Real<T>>::quiet_NaN());
    const std::span<const Degree> all = degrees<T>();
    const auto fits = [&](const Degree& degree) { return norm <= degree.norm; };
    const auto chosen = std::find_if(all.begin(), all.end() - 1, fits);
    const int squarings = std::max(0, static_cast<int>(std::ceil(std::log2(norm / chosen->norm))));
    if (squarings > 0) scale(a(), std::ldexp(1.0, -squarings));
    approximate(chosen->degree);
    for (int i = 0; i < squarings; ++i) {
      multiply(result(), result(), spare());
      std::copy_n(spare(), n_ * n_, result());
    }
    copy<T>(constant(matrix(result())), to);
  }

 private:
  T* slot(int64_t i) { return memory_.data() + i * n_ * n_; }
  T* a() { return slot(0); }
  T* square() { return slot(1); }
  T* power() { return slot(2); }
  T* even() { return slot(3); }
  T* odd() { return slot(4); }
  T* spare() { return slot(5); }
  T* result() { return slot(6); }
  T* divisor() { return slot(7); }
  Matrix<T> matrix(T* data) const { return {data, n_, n_, n_, 1}; }
  static void fill(const Matrix<T>& to, Real<T> value) {
    for (int64_t i = 0; i < to.rows; ++i)
      for (int64_t j = 0; j < to.columns; ++j) to(i, j) = T(value);
  }
  void scale(T* data, double factor) {
    for (int64_t i = 0; i < n_ * n_; ++i) data[i] = data[i] * T(static_cast<Real<T>>(factor));
  }
  /// The largest sum of magnitudes of a column.
  double norm_of(const T* data) const {
    std::vector<double> sums(static_cast<size_t>(n_), 0.0);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) sums[static_cast<size_t>(j)] += magnitude(data[i * n_ + j]);
    double largest = 0;
    // NaN must be found: it is less than nothing.
    for (const double sum : sums) largest = sum > largest || std::isnan(sum) ? sum : largest;
    return largest;
  }
  static double magnitude(T x) {
    if constexpr (kIsComplex<T>) {
      return std::hypot(static_cast<double>(x.re), static_cast<double>(x.im));
    } else {
      return std::abs(static_cast<double>(x));
    }
  }
  void multiply(const T* left, const T* right, T* to) {
    gemm<T>({n_, n_, n_, {const_cast<T*>(left), n_, 1}, {const_cast<T*>(right), n_, 1}, to, n_});
    check_interrupt();
  }
  void add(T* to, const T* from, double factor) {
    for (int64_t i = 0; i < n_ * n_; ++i) to[i] = to[i] + from[i] * T(static_cast<Real<T>>(factor));
  }
  void set_multiple_of_identity(T* to, double factor) {
    std::fill_n(to, n_ * n_, T(0));
    for (int64_t i = 0; i < n_; ++i) to[i * n_ + i] = T(static_cast<Real<T>>(factor));
  }
  /// (even - a odd)^-1 (even + a odd), with polynomials of the square of a.
  void approximate(int degree) {
    const std::vector<double> all = coefficients(degree);
    const auto coefficient = [&](int k) { return all[static_cast<size_t>(k)]; };
    multiply(a(), a(), square());
    set_multiple_of_identity(even(), 1.0);
    set_multiple_of_identity(odd(), coefficient(1));
    std::copy_n(square(), n_ * n_, power());
    for (int k = 2; k <= degree; k += 2) {
      add(even(), power(), coefficient(k));
      add(odd(), power(), coefficient(k + 1));
      if (k + 2 > degree) break;
      multiply(power(), square(), spare());
      std::copy_n(spare(), n_ * n_, power());
    }
    multiply(a(), odd(), spare());
    for (int64_t i = 0; i < n_ * n_; ++i) {
      divisor()[i] = even()[i] + -spare()[i];
      result()[i] = even()[i] + spare()[i];
    }
    std::vector<int> pivots(static_cast<size_t>(n_));
    factor<T>({divisor(), n_, n_, 1, n_}, pivots.data());
    solve_factored<T>({divisor(), n_, n_, 1, n_}, pivots.data(), {result(), n_, n_, 1, n_});
  }

  int64_t n_;
  std::vector<T> memory_;
};

/// Of matrices [begin, end), a whole number of lanes, all by the highest degree: what becomes of a
/// matrix does not depend on those beside it.
template <class T>
void find_tiny(const Batch<const T>& given, const Batch<T>& wanted, int64_t begin, int64_t end) {
  using Kernels = LaneExponential<T>;
  const Kernels& kernels = lane_exponential<T>();
  const int64_t n = given.rows();
  const Degree& highest = degrees<T>().back();
  const std::vector<double> numbers = coefficients(highest.degree);
  const Approximant approximant{highest.degree, highest.norm, numbers.data()};
  Lanes<T> some(kernels.lanes, n, n), room(kernels.lanes, Kernels::kRoom * n, n);
  for (; begin < end; begin += kernels.lanes) {
    some.take(given, begin);
    kernels.run(approximant, n, some.data(), room.data());
    some.give(wanted, begin);
  }
}

}  // namespace

void exponential_of(const Tensor& result, const Tensor& self) {
  if (result.numel() == 0) return;
  visit_elements(self.dtype(), [&]<class T>() {
    const Batch<const T> given(self);
    const Batch<T> wanted(result);
    const int64_t n = given.rows();
    const int64_t lanes = lanes_of<T>(n, n);
    over_matrices(given.count(), 15 * n * n * n, lanes, [&](int64_t begin, int64_t end) {
      const int64_t tiny = begin + count_in_lanes<T>(begin, end, n, n);
      if (begin < tiny) find_tiny(given, wanted, begin, tiny);
      Exponential<T> exponential(n);
      for (int64_t b = tiny; b < end; ++b) exponential(given[b], wanted[b]);
    });
  });
}

}  // namespace flambeau::cpu
