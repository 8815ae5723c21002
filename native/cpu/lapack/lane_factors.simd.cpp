#include "cpu/lapack/lane_factors.h"

#include <limits>

#include "cpu/lapack/lane_numbers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class E>
using Choice = decltype(Vector<Real<E>>{} > Vector<Real<E>>{});

/// Element (i, j) of matrices with so many columns.
template <class E>
E* place(E* a, int64_t columns, int64_t i, int64_t j) {
  return a + (i * columns + j) * kMatrices<std::remove_const_t<E>>;
}

/// Whole numbers of lanes.
template <class E>
struct IntegersOf {
  typedef int type __attribute__((vector_size(kMatrices<E> * sizeof(int))));
};
template <class E>
void store_integers(int* to, Vector<Real<E>> numbers) {
  using Integers = typename IntegersOf<E>::type;
  const Integers found = __builtin_convertvector(numbers, Integers);
  std::memcpy(to, &found, sizeof(found));
}
template <class E>
Vector<Real<E>> load_integers(const int* from) {
  typename IntegersOf<E>::type found;
  std::memcpy(&found, from, sizeof(found));
  return __builtin_convertvector(found, Vector<Real<E>>);
}

/// Rows exchanged in each lane with those of these numbers, counted from 1, in order or backwards.
/// Without branches: in most steps some lane exchanges its row with any given one.
template <class E>
void exchange_rows(int64_t rows, int64_t columns, E* a, const int* numbers, bool backwards) {
  using T = Real<E>;
  Choice<E> is_chosen[kTiny];
  for (int64_t done = 0; done < rows; ++done) {
    const int64_t k = backwards ? rows - 1 - done : done;
    const Vector<T> wanted = load_integers<E>(numbers + k * kMatrices<E>);
    // Factorizations choose none of the rows above.
    const bool is_above = any<T>(wanted < splat(static_cast<T>(k + 1)));
    const int64_t first = is_above ? 0 : k;
    for (int64_t i = first; i < rows; ++i) is_chosen[i] = wanted == splat(static_cast<T>(i + 1));
    for (int64_t j = 0; j < columns; ++j) {
      const Numbers<E> left = read(place(a, columns, k, j));
      Numbers<E> chosen = left;
      for (int64_t i = first; i < rows; ++i) {
        if (i == k) continue;
        E* const other = place(a, columns, i, j);
        const Numbers<E> x = read(other);
        chosen = choose<T>(is_chosen[i], x, chosen);
        write(other, choose<T>(is_chosen[i], left, x));
      }
      write(place(a, columns, k, j), chosen);
    }
  }
}

/// Of known rows and columns in registers, of any others (0) where they lie. That rows are
/// exchanged is part of each step, without a branch that depends on which: row k is put together
/// from those that lanes choose, the others are what is left.
template <int known, class E, class At>
void factor_at(int64_t given_rows, int64_t given_columns, const At& at, int* swaps, int* failed) {
  using T = Real<E>;
  const int64_t rows = known > 0 ? known : given_rows;
  const int64_t columns = known > 0 ? known : given_columns;
  const int64_t least = std::min(rows, columns);
  Numbers<E> pivots[known > 0 ? known : kTiny], left[known > 0 ? known : kTiny];
  Choice<E> is_chosen[known > 0 ? known : kTiny];
  const auto rest = [&](int64_t i, int64_t j) {
    return choose<T>(is_chosen[i], left[j], at.read(i, j));
  };
  Vector<T> failures{};
#pragma GCC unroll 4
  for (int64_t k = 0; k < least; ++k) {
    Vector<T> largest = sum_of_parts<T>(at.read(k, k)), chosen = splat(static_cast<T>(k));
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < rows; ++i) {
      const Vector<T> size = sum_of_parts<T>(at.read(i, k));
      const Choice<E> is_larger = size > largest;
      largest = is_larger ? size : largest;
      chosen = is_larger ? splat(static_cast<T>(i)) : chosen;
    }
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < rows; ++i) is_chosen[i] = chosen == splat(static_cast<T>(i));
#pragma GCC unroll 4
    for (int64_t j = 0; j < columns; ++j) {
      pivots[j] = left[j] = at.read(k, j);
#pragma GCC unroll 4
      for (int64_t i = k + 1; i < rows; ++i)
        pivots[j] = choose<T>(is_chosen[i], at.read(i, j), pivots[j]);
      at.write(k, j, pivots[j]);
    }
    store_integers<E>(swaps + k * kMatrices<E>, chosen + T(1));
    const Choice<E> is_zero = sum_of_parts<T>(pivots[k]) == T(0);
    failures = is_zero & (failures == T(0)) ? splat(static_cast<T>(k + 1)) : failures;
    // What is divided by zero is zero, too.
    const Divisor<E> divisor(choose<T>(is_zero, number<E>(splat(T(1))), pivots[k]));
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < rows; ++i) {
#pragma GCC unroll 4
      for (int64_t j = 0; j < k; ++j) at.write(i, j, rest(i, j));
      const Numbers<E> factor = divisor.under(rest(i, k));
      at.write(i, k, factor);
#pragma GCC unroll 4
      for (int64_t j = k + 1; j < columns; ++j)
        at.write(i, j, subtract_product<T>(rest(i, j), factor, pivots[j]));
    }
  }
  store_integers<E>(failed, failures);
}

template <class E>
struct InMemory {
  E* a;
  int64_t columns;
  Numbers<E> read(int64_t i, int64_t j) const {
    return FLAMBEAU_ISA::read(place(a, columns, i, j));
  }
  void write(int64_t i, int64_t j, Numbers<E> x) const {
    FLAMBEAU_ISA::write(place(a, columns, i, j), x);
  }
};
template <class E, int order>
struct InRegisters {
  Numbers<E> (&numbers)[order * order];
  Numbers<E> read(int64_t i, int64_t j) const { return numbers[i * order + j]; }
  void write(int64_t i, int64_t j, Numbers<E> x) const { numbers[i * order + j] = x; }
};

template <int order, class E>
void factor_in_registers(E* a, int* swaps, int* failed) {
  Numbers<E> numbers[order * order];
#pragma GCC unroll 16
  for (int i = 0; i < order * order; ++i) numbers[i] = read(a + i * kMatrices<E>);
  factor_at<order, E>(order, order, InRegisters<E, order>{numbers}, swaps, failed);
#pragma GCC unroll 16
  for (int i = 0; i < order * order; ++i) write(a + i * kMatrices<E>, numbers[i]);
}

/// The sanitizers of gcc 12 end in an internal error where numbers are chosen in registers.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kInRegisters = false;
#else
constexpr bool kInRegisters = true;
#endif

template <class E>
void factor_separated(int64_t rows, int64_t columns, E* a, int* swaps, int* failed) {
  [[maybe_unused]] const int64_t order = rows == columns ? rows : 0;
  if constexpr (kInRegisters) {
    if (order == 2) return factor_in_registers<2>(a, swaps, failed);
    if (order == 3) return factor_in_registers<3>(a, swaps, failed);
    if (order == 4) return factor_in_registers<4>(a, swaps, failed);
  }
  factor_at<0, E>(rows, columns, InMemory<E>{a, columns}, swaps, failed);
}

template <class E>
void factor_lanes(int64_t rows, int64_t columns, E* a, int* swaps, int* failed) {
  separate(rows * columns, a);
  factor_separated(rows, columns, a, swaps, failed);
  join(rows * columns, a);
}

/// Of a known order in registers, of any other (0) where they lie. Rows that would be looked
/// through for the greatest element change places with it as they are met: what becomes of a row
/// does not depend on its place.
template <int known, class E>
Numbers<E> determinant_of(Numbers<E>* a, int64_t order) {
  using T = Real<E>;
  const int64_t n = known > 0 ? known : order;
  Numbers<E> product = number<E>(splat(T(1)));
#pragma GCC unroll 4
  for (int64_t k = 0; k < n; ++k) {
    Numbers<E>* const pivots = a + k * n;
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < n; ++i) {
      Numbers<E>* const row = a + i * n;
      const auto is_larger = sum_of_parts<T>(row[k]) > sum_of_parts<T>(pivots[k]);
#pragma GCC unroll 4
      for (int64_t j = k; j < n; ++j) {
        const Numbers<E> one = pivots[j], other = row[j];
        pivots[j] = choose<T>(is_larger, other, one);
        row[j] = choose<T>(is_larger, one, other);
      }
      product = choose<T>(is_larger, -product, product);
    }
    product = product * pivots[k];
    const auto is_zero = sum_of_parts<T>(pivots[k]) == T(0);
    const Divisor<E> divisor(choose<T>(is_zero, number<E>(splat(T(1))), pivots[k]));
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < n; ++i) {
      Numbers<E>* const row = a + i * n;
      const Numbers<E> factor = divisor.under(row[k]);
#pragma GCC unroll 4
      for (int64_t j = k + 1; j < n; ++j) row[j] = subtract_product<T>(row[j], factor, pivots[j]);
    }
  }
  return product;
}

template <int order, class E>
Numbers<E> determinant_in_registers(const E* a) {
  Numbers<E> elements[order * order];
#pragma GCC unroll 16
  for (int i = 0; i < order * order; ++i) elements[i] = read(a + i * kMatrices<E>);
  return determinant_of<order, E>(elements, order);
}
template <class E>
Numbers<E> determinant_in_memory(int64_t n, const E* a) {
  Numbers<E> elements[kTiny * kTiny];
  for (int64_t i = 0; i < n * n; ++i) elements[i] = read(a + i * kMatrices<E>);
  return determinant_of<0, E>(elements, n);
}

template <class E>
void determinants(int64_t n, E* a, E* results) {
  separate(n * n, a);
  const Numbers<E> found = n == 2   ? determinant_in_registers<2>(a)
                           : n == 3 ? determinant_in_registers<3>(a)
                           : n == 4 ? determinant_in_registers<4>(a)
                                    : determinant_in_memory(n, a);
  write(results, found);
  join(1, results);
}

/// Of elements whose parts lie apart.
template <class E>
void substitute_separated(bool is_upper, bool is_unit, int64_t n, int64_t columns, const E* a,
                          E* b) {
  using T = Real<E>;
  for (int64_t done = 0; done < n; ++done) {
    const int64_t i = is_upper ? n - 1 - done : done;
    const int64_t first = is_upper ? i + 1 : 0, last = is_upper ? n : i;
    const Divisor<E> divisor(read(place(a, n, i, i)));
    for (int64_t j = 0; j < columns; ++j) {
      Numbers<E> left = read(place(b, columns, i, j));
      for (int64_t k = first; k < last; ++k)
        left = subtract_product<T>(left, read(place(a, n, i, k)), read(place(b, columns, k, j)));
      write(place(b, columns, i, j), is_unit ? left : divisor.under(left));
    }
  }
}

template <class E>
void substitute_lanes(bool is_upper, bool is_unit, int64_t n, int64_t columns, E* a, E* b) {
  separate(n * n, a);
  separate(n * columns, b);
  substitute_separated(is_upper, is_unit, n, columns, a, b);
  join(n * columns, b);
}

template <class E>
void solve_lanes(bool transposed, int64_t n, int64_t columns, E* factors, const int* swaps, E* b) {
  separate(n * n, factors);
  separate(n * columns, b);
  if (!transposed) exchange_rows(n, columns, b, swaps, false);
  substitute_separated(false, !transposed, n, columns, factors, b);
  substitute_separated(true, transposed, n, columns, factors, b);
  if (transposed) exchange_rows(n, columns, b, swaps, true);
  join(n * columns, b);
}

template <class E>
void factor_definite_lanes(int64_t n, E* a, int* failed) {
  using T = Real<E>;
  separate(n * n, a);
  const auto at = [&](int64_t i, int64_t j) { return place(a, n, i, j); };
  Vector<T> failures{};
  for (int64_t k = 0; k < n; ++k) {
    const Vector<T> square = real_part<T>(read(at(k, k)));
    const Choice<E> is_positive = square > T(0), is_first = failures == T(0);
    failures = ~is_positive & is_first ? splat(static_cast<T>(k + 1)) : failures;
    const Vector<T> size = root<T>(square);
    write(at(k, k), number<E>(size));
    for (int64_t i = k + 1; i < n; ++i) {
      const Numbers<E> factor = divide<T>(read(at(i, k)), size);
      write(at(i, k), factor);
      for (int64_t j = k + 1; j <= i; ++j)
        write(at(i, j), subtract_product<T>(read(at(i, j)), factor, conjugate<T>(read(at(j, k)))));
      write(at(k, i), Numbers<E>{});
    }
  }
  store_integers<E>(failed, failures);
  join(n * n, a);
}

/// b = (I - factor v v^H) b in columns [first, columns) of b, of so many rows. v stands in column k
/// of `a` below its first element, which is a 1.
template <class E>
void apply_lanes(int64_t rows, const E* a, int64_t a_columns, int64_t k, Numbers<E> factor, E* b,
                 int64_t first, int64_t columns) {
  using T = Real<E>;
  for (int64_t j = first; j < columns; ++j) {
    Numbers<E> sum = read(place(b, columns, k, j));
    for (int64_t i = k + 1; i < rows; ++i)
      sum = add_product<T>(read(place(a, a_columns, i, k)), read(place(b, columns, i, j)), sum);
    sum = factor * sum;
    write(place(b, columns, k, j), read(place(b, columns, k, j)) - sum);
    for (int64_t i = k + 1; i < rows; ++i) {
      E* const x = place(b, columns, i, j);
      write(x, subtract_product<T>(read(x), read(place(a, a_columns, i, k)), sum));
    }
  }
}

/// The norm of column k from row `first` on, in units of the largest number.
template <class E>
Vector<Real<E>> norm_of(int64_t rows, int64_t columns, const E* a, int64_t first, int64_t k) {
  using T = Real<E>;
  Vector<T> largest{}, sum{};
  for (int64_t i = first; i < rows; ++i) {
    const Vector<T> size = sum_of_parts<T>(read(place(a, columns, i, k)));
    largest = (size > largest) | (size != size) ? size : largest;
  }
  // Less than this is nothing.
  largest = largest < std::numeric_limits<T>::min() ? splat(T(1)) : largest;
  for (int64_t i = first; i < rows; ++i)
    sum = add_square<T>(divide<T>(read(place(a, columns, i, k)), largest), sum);
  return largest * root<T>(sum);
}

/// As make_reflection (small_factors.simd.cpp), in each lane. Returns the factors.
template <class E>
Numbers<E> make_reflections(int64_t rows, int64_t columns, int64_t k, E* a) {
  using T = Real<E>;
  const Vector<T> rest = norm_of(rows, columns, a, k + 1, k);
  const Vector<T> norm = norm_of(rows, columns, a, k, k);
  E* const diagonal = place(a, columns, k, k);
  const Numbers<E> alpha = read(diagonal);
  const Vector<T> size = real_part<T>(alpha);
  const Choice<E> is_done = (rest == T(0)) & (imaginary_part<T>(alpha) == T(0));
  const Vector<T> beta = is_negative<T>(size) ? norm : -norm;
  const Numbers<E> shift = choose<T>(is_done, number<E>(splat(T(1))), alpha - number<E>(beta));
  const Numbers<E> factor = divide<T>(number<E>(beta) - alpha, beta);
  write(diagonal, choose<T>(is_done, alpha, number<E>(beta)));
  const Divisor<E> divisor(shift);
  for (int64_t i = k + 1; i < rows; ++i) {
    E* const x = place(a, columns, i, k);
    write(x, divisor.under(read(x)));
  }
  return choose<T>(is_done, Numbers<E>{}, factor);
}

template <class E>
void reflect_lanes(int64_t rows, int64_t columns, E* a, E* tau) {
  const int64_t count = std::min(rows, columns);
  separate(rows * columns, a);
  for (int64_t k = 0; k < count; ++k) {
    const Numbers<E> factor = make_reflections(rows, columns, k, a);
    write(tau + k * kMatrices<E>, factor);
    apply_lanes(rows, a, columns, k, conjugate<Real<E>>(factor), a, k + 1, columns);
  }
  join(rows * columns, a);
  join(count, tau);
}

template <class E>
void multiply_lanes(int64_t rows, int64_t columns, int64_t count, E* a, E* tau, E* result) {
  separate(rows * columns, a);
  separate(count, tau);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      write(place(result, columns, i, j), number<E>(splat(Real<E>(i == j ? 1 : 0))));
  for (int64_t k = count - 1; k >= 0; --k)
    apply_lanes(rows, a, columns, k, read(tau + k * kMatrices<E>), result, k, columns);
  join(rows * columns, result);
}

template <class E>
void apply_all_lanes(bool adjoint, int64_t rows, int64_t columns, int64_t count, int64_t a_columns,
                     E* a, E* tau, E* b) {
  separate(rows * a_columns, a);
  separate(count, tau);
  separate(rows * columns, b);
  for (int64_t done = 0; done < count; ++done) {
    const int64_t k = adjoint ? done : count - 1 - done;
    const Numbers<E> factor = read(tau + k * kMatrices<E>);
    apply_lanes(rows, a, a_columns, k, adjoint ? conjugate<Real<E>>(factor) : factor, b, 0,
                columns);
  }
  join(rows * columns, b);
}

}  // namespace

template <class T>
const LaneFactors<T>& lane_factors() {
  static constexpr LaneFactors<T> kernels{
      kMatrices<T>,      &factor_lanes<T>,     &determinants<T>,
      &solve_lanes<T>,   &substitute_lanes<T>, &factor_definite_lanes<T>,
      &reflect_lanes<T>, &multiply_lanes<T>,   &apply_all_lanes<T>};
  return kernels;
}
template const LaneFactors<float>& lane_factors();
template const LaneFactors<double>& lane_factors();
template const LaneFactors<complex<float>>& lane_factors();
template const LaneFactors<complex<double>>& lane_factors();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
