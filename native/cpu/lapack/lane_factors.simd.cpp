#include "cpu/lapack/lane_factors.h"

#include <algorithm>
#include <concepts>
#include <limits>

#include "cpu/lapack/numbers.h"
#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// As many as fill a register with the real parts.
template <class T>
constexpr int64_t kMatrices = kLanes<T>;
template <class T>
constexpr int64_t kMatrices<complex<T>> = kLanes<T>;

/// In each lane, row k is exchanged with the row of that number, counted from 1.
template <class T>
void exchange_rows(int64_t k, int64_t rows, int64_t columns, T* a, const int* numbers) {
  constexpr int64_t lanes = kMatrices<T>;
  Size<T> wanted[lanes];  // as wide as elements, which are chosen by them
  for (int64_t l = 0; l < lanes; ++l) wanted[l] = static_cast<Size<T>>(numbers[l] - 1);
  for (int64_t i = k + 1; i < rows; ++i) {
    const Size<T> number = static_cast<Size<T>>(i);
    if (std::find(wanted, wanted + lanes, number) == wanted + lanes) continue;
    for (int64_t j = 0; j < columns; ++j) {
      T* const one = a + (k * columns + j) * lanes;
      T* const other = a + (i * columns + j) * lanes;
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) {
        const T first = one[l], second = other[l];
        one[l] = wanted[l] == number ? second : first;
        other[l] = wanted[l] == number ? first : second;
      }
    }
  }
}

/// Rows k and those of the largest elements of column k are exchanged.
template <class T>
void choose_pivots(int64_t k, int64_t rows, int64_t columns, T* a, int* swaps) {
  constexpr int64_t lanes = kMatrices<T>;
  const auto row = [&](int64_t i) { return a + i * columns * lanes; };
  Size<T> largest[lanes], chosen[lanes];  // rows as numbers of the elements' width
  for (int64_t l = 0; l < lanes; ++l) {
    largest[l] = size_of(row(k)[k * lanes + l]);
    chosen[l] = static_cast<Size<T>>(k);
  }
  for (int64_t i = k + 1; i < rows; ++i) {
    const T* const candidate = row(i) + k * lanes;
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      const Size<T> size = size_of(candidate[l]);
      const bool larger = size > largest[l];
      largest[l] = larger ? size : largest[l];
      chosen[l] = larger ? static_cast<Size<T>>(i) : chosen[l];
    }
  }
  for (int64_t l = 0; l < lanes; ++l) swaps[k * lanes + l] = static_cast<int>(chosen[l]) + 1;
  exchange_rows(k, rows, columns, a, swaps + k * lanes);
}

/// Of real numbers, in registers. That rows are exchanged is part of each step, without a branch
/// that depends on which: row k is put together from those that lanes choose, the others are what
/// is left.
template <std::floating_point T>
void factor_lanes(int64_t rows, int64_t columns, T* a, int* swaps, int* failed) {
  constexpr int64_t lanes = kMatrices<T>;
  using Numbers = Vector<T>;
  using Choice = decltype(Numbers{} > Numbers{});
  Numbers pivots[kTiny], left[kTiny];
  Choice is_chosen[kTiny];
  const auto at = [&](int64_t i, int64_t j) { return a + (i * columns + j) * lanes; };
  const auto rest = [&](int64_t i, int64_t j) { return is_chosen[i] ? left[j] : load(at(i, j)); };
  std::fill_n(failed, lanes, 0);
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    const auto size_at = [&](int64_t i) {
      const Numbers x = load(at(i, k));
      return x < T(0) ? -x : x;
    };
    Numbers largest = size_at(k), chosen = splat(static_cast<T>(k));
    for (int64_t i = k + 1; i < rows; ++i) {
      const Numbers size = size_at(i);
      const Choice is_larger = size > largest;
      largest = is_larger ? size : largest;
      chosen = is_larger ? splat(static_cast<T>(i)) : chosen;
    }
    for (int64_t i = k + 1; i < rows; ++i) is_chosen[i] = chosen == splat(static_cast<T>(i));
    for (int64_t j = 0; j < columns; ++j) {
      pivots[j] = left[j] = load(at(k, j));
      for (int64_t i = k + 1; i < rows; ++i) pivots[j] = is_chosen[i] ? load(at(i, j)) : pivots[j];
      store(at(k, j), pivots[j]);
    }
    for (int64_t l = 0; l < lanes; ++l) {
      swaps[k * lanes + l] = static_cast<int>(chosen[l]) + 1;
      if (pivots[k][l] == T(0) && failed[l] == 0) failed[l] = static_cast<int>(k + 1);
    }
    // What is divided by zero is zero, too.
    const Numbers divisors = pivots[k] == T(0) ? splat(T(1)) : pivots[k];
    for (int64_t i = k + 1; i < rows; ++i) {
      for (int64_t j = 0; j < k; ++j) store(at(i, j), rest(i, j));
      const Numbers factors = rest(i, k) / divisors;
      store(at(i, k), factors);
      for (int64_t j = k + 1; j < columns; ++j)
        store(at(i, j), multiply_add<T>(-factors, pivots[j], rest(i, j)));
    }
  }
}

template <class T>
void factor_lanes(int64_t rows, int64_t columns, T* a, int* swaps, int* failed) {
  constexpr int64_t lanes = kMatrices<T>;
  std::fill_n(failed, lanes, 0);
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    choose_pivots(k, rows, columns, a, swaps);
    const T* const pivots = a + (k * columns + k) * lanes;
    T divisors[lanes];
    for (int64_t l = 0; l < lanes; ++l) {
      const bool is_zero = pivots[l] == T(0);
      if (is_zero && failed[l] == 0) failed[l] = static_cast<int>(k + 1);
      divisors[l] = is_zero ? T(1) : pivots[l];  // what is divided is zero, too
    }
    for (int64_t i = k + 1; i < rows; ++i) {
      T* const row = a + i * columns * lanes;
      T factors[lanes];
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l)
        factors[l] = row[k * lanes + l] = row[k * lanes + l] / divisors[l];
      for (int64_t j = k + 1; j < columns; ++j) {
        const T* const above = a + (k * columns + j) * lanes;
#pragma omp simd
        for (int64_t l = 0; l < lanes; ++l)
          row[j * lanes + l] = row[j * lanes + l] - factors[l] * above[l];
      }
    }
  }
}

/// Of real numbers: of a known order in registers, of any other (0) where they lie. Rows that would
/// be looked through for the greatest element change places with it as they are met: what becomes
/// of a row does not depend on its place.
template <int known, std::floating_point T>
Vector<T> determinant_of(Vector<T>* a, int64_t order) {
  const int64_t n = known > 0 ? known : order;
  const auto size_of = [](Vector<T> x) { return x < T(0) ? -x : x; };
  Vector<T> product = splat(T(1));
#pragma GCC unroll 4
  for (int64_t k = 0; k < n; ++k) {
    Vector<T>* const pivots = a + k * n;
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < n; ++i) {
      Vector<T>* const row = a + i * n;
      const auto is_larger = size_of(row[k]) > size_of(pivots[k]);
#pragma GCC unroll 4
      for (int64_t j = k; j < n; ++j) {
        const Vector<T> one = pivots[j], other = row[j];
        pivots[j] = is_larger ? other : one;
        row[j] = is_larger ? one : other;
      }
      product = is_larger ? -product : product;
    }
    product *= pivots[k];
    const Vector<T> divisors = pivots[k] == T(0) ? splat(T(1)) : pivots[k];
#pragma GCC unroll 4
    for (int64_t i = k + 1; i < n; ++i) {
      Vector<T>* const row = a + i * n;
      const Vector<T> factors = row[k] / divisors;
#pragma GCC unroll 4
      for (int64_t j = k + 1; j < n; ++j) row[j] = multiply_add<T>(-factors, pivots[j], row[j]);
    }
  }
  return product;
}

template <int order, std::floating_point T>
Vector<T> determinant_in_registers(const T* a) {
  Vector<T> elements[order * order];
#pragma GCC unroll 16
  for (int i = 0; i < order * order; ++i) elements[i] = load(a + i * kMatrices<T>);
  return determinant_of<order, T>(elements, order);
}

template <std::floating_point T>
void determinants(int64_t n, T* a, T* results) {
  if (n == 2) return store(results, determinant_in_registers<2>(a));
  if (n == 3) return store(results, determinant_in_registers<3>(a));
  if (n == 4) return store(results, determinant_in_registers<4>(a));
  Vector<T> elements[kTiny * kTiny];
  for (int64_t i = 0; i < n * n; ++i) elements[i] = load(a + i * kMatrices<T>);
  store(results, determinant_of<0, T>(elements, n));
}
template <class T>
void determinants(int64_t n, T* a, T* results) {
  constexpr int64_t lanes = kMatrices<T>;
  int swaps[kTiny * lanes], failed[lanes];
  factor_lanes(n, n, a, swaps, failed);
  std::fill_n(results, lanes, T(1));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t l = 0; l < lanes; ++l) {
      const T product = results[l] * a[(k * n + k) * lanes + l];
      results[l] = swaps[k * lanes + l] != k + 1 ? -product : product;
    }
}

/// b of row i, less what row k of it contributes.
template <class T>
void subtract_lanes(int64_t columns, const T* factors, const T* from, T* to) {
  constexpr int64_t lanes = kMatrices<T>;
  for (int64_t j = 0; j < columns; ++j) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l)
      to[j * lanes + l] = to[j * lanes + l] - factors[l] * from[j * lanes + l];
  }
}

template <class T>
void substitute_lanes(bool is_upper, bool is_unit, int64_t n, int64_t columns, const T* a, T* b) {
  constexpr int64_t lanes = kMatrices<T>;
  const auto factor_at = [&](int64_t i, int64_t k) { return a + (i * n + k) * lanes; };
  const auto row = [&](int64_t i) { return b + i * columns * lanes; };
  for (int64_t done = 0; done < n; ++done) {
    const int64_t i = is_upper ? n - 1 - done : done;
    const int64_t first = is_upper ? i + 1 : 0, last = is_upper ? n : i;
    for (int64_t k = first; k < last; ++k) subtract_lanes(columns, factor_at(i, k), row(k), row(i));
    const T* const divisors = factor_at(i, i);
    for (int64_t j = 0; !is_unit && j < columns; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l)
        row(i)[j * lanes + l] = row(i)[j * lanes + l] / divisors[l];
    }
  }
}

template <class T>
void solve_lanes(int64_t n, int64_t columns, const T* factors, const int* swaps, T* b) {
  for (int64_t k = 0; k < n; ++k) exchange_rows(k, n, columns, b, swaps + k * kMatrices<T>);
  substitute_lanes(false, true, n, columns, factors, b);
  substitute_lanes(true, false, n, columns, factors, b);
}

template <class T>
void factor_definite_lanes(int64_t n, T* a, int* failed) {
  constexpr int64_t lanes = kMatrices<T>;
  std::fill_n(failed, lanes, 0);
  const auto at = [&](int64_t i, int64_t j) { return a + (i * n + j) * lanes; };
  for (int64_t k = 0; k < n; ++k) {
    T* const diagonal = at(k, k);
    Size<T> roots[lanes];
    for (int64_t l = 0; l < lanes; ++l) {
      const Size<T> square = real_part(diagonal[l]);
      if (!(square > 0) && failed[l] == 0) failed[l] = static_cast<int>(k + 1);
      roots[l] = std::sqrt(square);
      diagonal[l] = T(roots[l]);
    }
    for (int64_t i = k + 1; i < n; ++i) {
      T* const row = at(i, k);
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) row[l] = row[l] / T(roots[l]);
      for (int64_t j = k + 1; j <= i; ++j) {
        const T* const other = at(j, k);
        T* const to = at(i, j);
#pragma omp simd
        for (int64_t l = 0; l < lanes; ++l) to[l] = to[l] - row[l] * conjugate(other[l]);
      }
      std::fill_n(at(k, i), lanes, T(0));
    }
  }
}

/// The vector of a reflection of so many rows, the first a 1: where column k has it.
template <class T>
struct Vectors {
  const T* a;
  int64_t rows, columns;
  const T* at(int64_t i, int64_t k) const { return a + (i * columns + k) * kMatrices<T>; }
};

/// b = (I - factors v v^H) b in columns [first, columns) of b.
template <class T>
void apply_lanes(const Vectors<T>& vectors, int64_t k, const T* factors, T* b, int64_t first,
                 int64_t columns) {
  constexpr int64_t lanes = kMatrices<T>;
  const auto at = [&](int64_t i, int64_t j) { return b + (i * columns + j) * lanes; };
  for (int64_t j = first; j < columns; ++j) {
    T sums[lanes];
    std::copy_n(at(k, j), lanes, sums);
    for (int64_t i = k + 1; i < vectors.rows; ++i) {
      const T *const v = vectors.at(i, k), *const x = at(i, j);
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) sums[l] = sums[l] + conjugate(v[l]) * x[l];
    }
    T* const top = at(k, j);
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      sums[l] = factors[l] * sums[l];
      top[l] = top[l] - sums[l];
    }
    for (int64_t i = k + 1; i < vectors.rows; ++i) {
      const T* const v = vectors.at(i, k);
      T* const x = at(i, j);
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) x[l] = x[l] - v[l] * sums[l];
    }
  }
}

/// Norms of column k from row `first` on, in units of the largest number.
template <class T>
void find_norms(const Vectors<T>& vectors, int64_t first, int64_t k, Size<T>* norms) {
  constexpr int64_t lanes = kMatrices<T>;
  Size<T> largest[lanes] = {}, sums[lanes] = {};
  for (int64_t i = first; i < vectors.rows; ++i) {
    const T* const x = vectors.at(i, k);
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      const Size<T> size = size_of(x[l]);
      largest[l] = size > largest[l] || size != size ? size : largest[l];
    }
  }
  for (int64_t l = 0; l < lanes; ++l)  // less than this is nothing
    largest[l] = largest[l] < std::numeric_limits<Size<T>>::min() ? Size<T>(1) : largest[l];
  for (int64_t i = first; i < vectors.rows; ++i) {
    const T* const x = vectors.at(i, k);
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      const T part = x[l] / T(largest[l]);
      sums[l] += real_part(part * conjugate(part));
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < lanes; ++l) norms[l] = largest[l] * std::sqrt(sums[l]);
}

/// As make_reflection (small_factors.simd.cpp), in each lane.
template <class T>
void make_reflections(int64_t rows, int64_t columns, int64_t k, T* a, T* factors) {
  constexpr int64_t lanes = kMatrices<T>;
  const Vectors<T> vectors{a, rows, columns};
  Size<T> rest[lanes], norms[lanes];
  find_norms(vectors, k + 1, k, rest);
  find_norms(vectors, k, k, norms);
  T* const diagonal = a + (k * columns + k) * lanes;
  T shifts[lanes];
  for (int64_t l = 0; l < lanes; ++l) {
    const T alpha = diagonal[l];
    const Size<T> size = real_part(alpha);
    const bool is_done = rest[l] == 0 && alpha == T(size);
    const Size<T> beta = std::signbit(size) ? norms[l] : -norms[l];
    factors[l] = is_done ? T(0) : (T(beta) - alpha) / T(beta);
    shifts[l] = is_done ? T(1) : alpha - T(beta);
    diagonal[l] = is_done ? alpha : T(beta);
  }
  for (int64_t i = k + 1; i < rows; ++i) {
    T* const x = a + (i * columns + k) * lanes;
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) x[l] = x[l] / shifts[l];
  }
}

template <class T>
void reflect_lanes(int64_t rows, int64_t columns, T* a, T* tau) {
  constexpr int64_t lanes = kMatrices<T>;
  for (int64_t k = 0; k < std::min(rows, columns); ++k, tau += lanes) {
    make_reflections(rows, columns, k, a, tau);
    T factors[lanes];
    for (int64_t l = 0; l < lanes; ++l) factors[l] = conjugate(tau[l]);
    apply_lanes(Vectors<T>{a, rows, columns}, k, factors, a, k + 1, columns);
  }
}

template <class T>
void multiply_lanes(int64_t rows, int64_t columns, int64_t count, const T* a, const T* tau,
                    T* result) {
  constexpr int64_t lanes = kMatrices<T>;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      std::fill_n(result + (i * columns + j) * lanes, lanes, T(i == j ? 1 : 0));
  for (int64_t k = count - 1; k >= 0; --k)
    apply_lanes(Vectors<T>{a, rows, columns}, k, tau + k * lanes, result, k, columns);
}

}  // namespace

template <class T>
const LaneFactors<T>& lane_factors() {
  static constexpr LaneFactors<T> kernels{
      kMatrices<T>,         &factor_lanes<T>,          &determinants<T>,  &solve_lanes<T>,
      &substitute_lanes<T>, &factor_definite_lanes<T>, &reflect_lanes<T>, &multiply_lanes<T>};
  return kernels;
}
template const LaneFactors<float>& lane_factors();
template const LaneFactors<double>& lane_factors();
template const LaneFactors<complex<float>>& lane_factors();
template const LaneFactors<complex<double>>& lane_factors();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
