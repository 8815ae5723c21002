#include <cmath>
#include <numeric>

#include "core/types/element_types.h"
#include "cpu/lapack/lu_factors.h"
#include "cpu/lapack/real_or_complex.h"
#include "kernels/linalg_lu.h"
#include "kernels/linalg_solve.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// Factors all matrices. Calls tiny_found(those in lanes, number of the first) while enough are
/// left to fill lanes, other_found(number) for each of the rest.
template <class T, class Tiny, class Other>
void factor_each(const Factors<T>& all, const Tiny& tiny_found, const Other& other_found) {
  const int64_t lanes = lanes_of<T>(all.rows(), all.columns());
  over_matrices(all.given.count(), all.work(), lanes, [&](int64_t begin, int64_t end) {
    const int64_t tiny = begin + count_in_lanes<T>(begin, end, all.rows(), all.columns());
    if (begin < tiny) {
      for (TinyFactors<T> some(all); begin < tiny; begin += lanes) {
        some.find(begin);
        tiny_found(some, begin);
      }
    }
    for (; begin < end; ++begin) {
      all.find(begin);
      other_found(begin);
    }
  });
}

template <class T>
void factor_all(const Factors<T>& all) {
  factor_each(
      all, [](TinyFactors<T>& some, int64_t first) { some.keep(first); }, [](int64_t) {});
}

/// Solves tiny systems, as many right-hand sides as matrices; `all` gets the factors of the last
/// few, which are no whole number of lanes.
template <class T>
void solve_tiny(const Factors<T>& all, const Batch<const T>& sides, const Batch<T>& unknown) {
  const int64_t lanes = lane_factors<T>().lanes, columns = unknown.columns();
  over_matrices(unknown.count(), all.work(), lanes, [&](int64_t begin, int64_t end) {
    const int64_t tiny = begin + count_in_lanes<T>(begin, end, all.rows(), all.columns());
    TinyFactors<T> some(all);
    for (Lanes<T> b(lanes, all.rows(), columns); begin < tiny; begin += lanes) {
      some.find(begin);
      b.take(sides, begin);
      some.solve(b, columns);
      b.give(unknown, begin);
    }
    for (; begin < end; ++begin) {
      all.find(begin);
      copy<T>(sides[begin], unknown[begin]);
      solve_factored(constant(all.wanted[begin]), all.swaps[begin].data, unknown[begin]);
    }
  });
}

template <class T>
void solve_each(const Tensor& factors, const Tensor& swaps, const Tensor& result) {
  const Batch<const T> all(with_batch_of(factors, result, 2));
  const Batch<const int> orders(with_batch_of(swaps, result, 1), 1);
  const Batch<T> unknown(result);
  const int64_t work = unknown.rows() * unknown.rows() * unknown.columns();
  over_matrices(unknown.count(), work, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) solve_factored(all[b], orders[b].data, unknown[b]);
  });
}

/// Calls body(number of a matrix, diagonal of U, its step, exchanges, their step) for each matrix,
/// which is factored before.
template <class Body>
void for_diagonals(const Tensor& A, const Body& body) {
  const Tensor factors = empty(A.sizes(), A.dtype());
  const IntList outer = IntList(A.sizes()).first(A.sizes().size() - 2);
  const Tensor swaps = empty(IntList(A.sizes()).first(A.sizes().size() - 1), DType::int32);
  const Tensor info = empty(outer, DType::int32);
  visit_elements(A.dtype(), [&]<class T>() {
    const Factors<T> all(factors, swaps, info, A);
    factor_each(
        all, [&](TinyFactors<T>& some, int64_t first) { some.read(first, body); },
        [&](int64_t b) {
          const Matrix<T> found = all.wanted[b];
          body(b, found.data, found.row_step + found.column_step, all.swaps[b].data, int64_t{1});
        });
  });
}

/// The same of matrices whose factors are known.
template <class Body>
void for_factors(const Tensor& LU, const Tensor& pivots, const Body& body) {
  visit_elements(LU.dtype(), [&]<class T>() {
    const Batch<const T> all(LU);
    const Batch<const int> orders(pivots, 1);
    for (int64_t b = 0; b < all.count(); ++b) {
      const Matrix<const T> factors = all[b];
      const Matrix<const int> order = orders[b];
      body(b, factors.data, factors.row_step + factors.column_step, order.data, order.row_step);
    }
  });
}

/// A product of magnitudes that neither overflows nor vanishes.
class ScaledProduct {
 public:
  void take(double factor) {
    if (!(factor > 0x1p-100 && factor < 0x1p100)) factor = without_exponent(factor);
    mantissa_ *= factor;
    if (!(mantissa_ > 0x1p-900 && mantissa_ < 0x1p900)) mantissa_ = without_exponent(mantissa_);
  }
  double logarithm() const {
    constexpr double kLogTwo = 0.6931471805599453;
    return std::log(mantissa_) + static_cast<double>(exponent_) * kLogTwo;
  }

 private:
  double without_exponent(double number) {
    int exponent = 0;
    const double mantissa = std::frexp(number, &exponent);
    exponent_ += exponent;
    return mantissa;
  }

  double mantissa_ = 1;
  int64_t exponent_ = 0;
};

template <class T>
double magnitude(T value) {
  return std::abs(static_cast<double>(value));
}
template <class T>
double magnitude(complex<T> value) {
  return std::hypot(static_cast<double>(value.re), static_cast<double>(value.im));
}
/// Of magnitude 1, or 0.
template <class T>
T sign_of(T value) {
  return static_cast<T>((value > 0) - (value < 0));
}
template <class T>
complex<T> sign_of(complex<T> value) {
  const double size = magnitude(value);
  if (size == 0) return {0, 0};
  return {static_cast<T>(static_cast<double>(value.re) / size),
          static_cast<T>(static_cast<double>(value.im) / size)};
}

/// Whether rows were exchanged an odd number of times.
bool is_odd(const int* swaps, int64_t step, int64_t count) {
  bool odd = false;
  for (int64_t k = 0; k < count; ++k) odd ^= swaps[k * step] != k + 1;
  return odd;
}

/// The determinant, from what for_diagonals finds.
template <class T>
T product_of_pivots(int64_t n, const T* diagonal, int64_t step, const int* swaps,
                    int64_t swap_step) {
  T product(is_odd(swaps, swap_step, n) ? -1 : 1);
  for (int64_t k = 0; k < n; ++k) product = product * diagonal[k * step];
  return product;
}

/// Signs of determinants and the logarithms of their magnitudes, from what for_diagonals finds.
struct SignAndLog {
  const Tensor &sign, &logabsdet;
  int64_t n;

  template <class T>
  void operator()(int64_t number, const T* diagonal, int64_t step, const int* swaps,
                  int64_t swap_step) const {
    T turns(is_odd(swaps, swap_step, n) ? -1 : 1);
    ScaledProduct size;
    for (int64_t k = 0; k < n; ++k) {
      const T element = diagonal[k * step];
      turns = turns * sign_of(element);
      size.take(magnitude(element));
    }
    sign.data<T>()[number] = turns;
    logabsdet.data<RealOf<T>>()[number] = static_cast<RealOf<T>>(size.logarithm());
  }
};

/// What a pivot, counted from 1, says.
int64_t row_of(int pivot, int64_t rows) {
  check(pivot >= 1 && pivot <= rows, ErrorKind::runtime,
        "pivots_to_permutation(): pivots must lie between 1 and ", rows, ", got ", pivot);
  return pivot - 1;
}

/// Pivots that are rows of a matrix, in a copy.
const int* checked_swaps(const Matrix<const int>& pivots, int64_t rows, Scratch<int>& copy) {
  int* const swaps = copy.of(rows);
  for (int64_t i = 0; i < rows; ++i) swaps[i] = static_cast<int>(row_of(pivots(i, 0), rows)) + 1;
  return swaps;
}

/// Solves those of the systems [begin, end) that are solved side by side, whose factors and pivots
/// are known; fill(lanes, first) takes their right-hand sides. Returns the first that is left.
template <class T, class Fill>
int64_t solve_lanes(const Batch<T>& factors, const Batch<const int>& pivots, bool adjoint,
                    const Batch<T>& unknown, int64_t begin, int64_t end, const Fill& fill) {
  const int64_t n = factors.rows(), sides = unknown.columns();
  const int64_t tiny = begin + count_in_lanes<T>(begin, end, n, sides);
  if (begin == tiny) return begin;
  const LaneFactors<T>& kernels = lane_factors<T>();
  Lanes<T> triangles(kernels.lanes, n, n), columns(kernels.lanes, n, sides);
  Lanes<int> swaps(kernels.lanes, n, 1);
  for (; begin < tiny; begin += kernels.lanes) {
    triangles.take(factors, begin, adjoint);
    if (adjoint) triangles.conjugate();
    swaps.take(pivots, begin);
    for (int64_t i = 0; i < n * kernels.lanes; ++i) row_of(swaps.data()[i], n);
    fill(columns, begin);
    kernels.solve(adjoint, n, sides, triangles.data(), swaps.data(), columns.data());
    columns.give(unknown, begin);
  }
  return begin;
}

/// Solves A^H x = b for each column b.
template <class T>
void solve_factored_adjoint(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& b) {
  conjugate_where_complex(b);
  solve_triangle(transposed(factors), b, false, false);
  solve_triangle(transposed(factors), b, true, true);
  for (int64_t k = factors.rows - 1; k >= 0; --k)
    for (int64_t j = 0; swaps[k] != k + 1 && j < b.columns; ++j)
      std::swap(b(k, j), b(swaps[k] - 1, j));
  conjugate_where_complex(b);
}

/// Memory for factors that are no result. An odd number of cache lines apart, rows of a column
/// do not share places in the cache.
Tensor for_factors(IntList sizes, DType dtype) {
  const auto line = 64 / static_cast<int64_t>(size_of(dtype));
  const int64_t n = sizes.back();
  if (n < 4 * line) return empty(sizes, dtype);
  Shape apart(sizes);
  apart[apart.size() - 1] = ((n + line - 1) / line | 1) * line;
  const Tensor memory = empty(apart, dtype);
  return make_view(memory, sizes, memory.strides(), memory.offset());
}

void check_factors(const char* op, const Tensor& info) {
  const int64_t failure = first_failure(info);
  if (failure < 0) return;
  fail(ErrorKind::linalg, op, "(): ", which(info, failure), "the matrix is singular: element ",
       *Batch<int>(info, 0)[failure].data, " of the diagonal of U is zero");
}

}  // namespace

void lu_factors(const Tensor& LU, const Tensor& pivots, const Tensor& info, const Tensor& A,
                bool check_errors) {
  visit_elements(A.dtype(), [&]<class T>() { factor_all<T>({LU, pivots, info, A}); });
  if (check_errors) check_factors("lu_factors", info);
}

void determinant_alone(const Tensor& result, const Tensor& A) {
  visit_elements(A.dtype(), [&]<class T>() {
    const LaneFactors<T>& kernels = lane_factors<T>();
    const Batch<const T> given(A);
    const int64_t n = given.rows();
    T* const to = result.data<T>();
    over_matrices(given.count(), n * n * n, lanes_of<T>(n, n), [&](int64_t begin, int64_t end) {
      const int64_t tiny = begin + count_in_lanes<T>(begin, end, n, n);
      if (begin < tiny) {
        for (Lanes<T> some(kernels.lanes, n, n); begin < tiny; begin += kernels.lanes) {
          some.take(given, begin);
          kernels.determinants(n, some.data(), to + begin);
        }
      }
      if (begin == end) return;
      const Tensor memory = for_factors(Shape{n, n}, A.dtype());
      const Matrix<T> factors = Batch<T>(memory)[0];
      std::vector<int> swaps(static_cast<size_t>(n));
      for (; begin < end; ++begin) {
        copy<T>(given[begin], factors);
        factor(factors, swaps.data());
        to[begin] = product_of_pivots(n, factors.data, factors.row_step + factors.column_step,
                                      swaps.data(), 1);
      }
    });
  });
}

void factored_determinant(const Tensor& result, const Tensor&, const Tensor& LU,
                          const Tensor& pivots) {
  for_factors(LU, pivots,
              [&]<class T>(int64_t number, const T* diagonal, int64_t step, const int* swaps,
                           int64_t swap_step) {
                result.data<T>()[number] =
                    product_of_pivots(LU.size(-1), diagonal, step, swaps, swap_step);
              });
}

void sign_and_log_alone(const Tensor& sign, const Tensor& logabsdet, const Tensor& A) {
  for_diagonals(A, SignAndLog{sign, logabsdet, A.size(-1)});
}

void factored_sign_and_log(const Tensor& sign, const Tensor& logabsdet, const Tensor&,
                           const Tensor& LU, const Tensor& pivots) {
  for_factors(LU, pivots, SignAndLog{sign, logabsdet, LU.size(-1)});
}

void solve_system_alone(const Tensor& result, const Tensor& info, const Tensor& A, const Tensor& B,
                        bool check_errors) {
  const Tensor factors = for_factors(A.sizes(), A.dtype());
  const Tensor swaps = empty(IntList(A.sizes()).first(A.sizes().size() - 1), DType::int32);
  visit_elements(A.dtype(), [&]<class T>() {
    const Factors<T> all(factors, swaps, info, A);
    const Batch<T> unknown(result);
    const bool is_tiny = all.is_tiny() && unknown.count() == all.given.count();
    if (is_tiny) {
      solve_tiny(all, Batch<const T>(with_batch_of(B, result, 2)), unknown);
    } else {
      copy_data(result, B);
      factor_all(all);
    }
    if (check_errors) check_factors("solve_system", info);
    if (!is_tiny) solve_each<T>(factors, swaps, result);
  });
}

void inverse_of(const Tensor& inverse, const Tensor& info, const Tensor& A, bool check_errors) {
  const Tensor factors = for_factors(A.sizes(), A.dtype());
  const Tensor swaps = empty(IntList(A.sizes()).first(A.sizes().size() - 1), DType::int32);
  visit_elements(A.dtype(), [&]<class T>() {
    const Factors<T> all(factors, swaps, info, A);
    const Batch<T> unknown(inverse);
    const int64_t n = all.rows(), lanes = lanes_of<T>(n, n);
    over_matrices(unknown.count(), 2 * all.work(), lanes, [&](int64_t begin, int64_t end) {
      const int64_t tiny = begin + count_in_lanes<T>(begin, end, n, n);
      if (begin < tiny) {
        TinyFactors<T> some(all);
        for (Lanes<T> b(lanes, n, n); begin < tiny; begin += lanes) {
          some.find(begin);
          b.fill_identity(n);
          some.solve(b, n);
          b.give(unknown, begin);
        }
      }
      for (; begin < end; ++begin) {
        all.find(begin);
        invert_factored(constant(all.wanted[begin]), all.swaps[begin].data, unknown[begin]);
      }
    });
  });
  if (check_errors) check_factors("solve_system", info);
}

void factored_inverse(const Tensor& inverse, const Tensor&, const Tensor& LU,
                      const Tensor& pivots) {
  visit_elements(LU.dtype(), [&]<class T>() {
    const Batch<T> all(LU), unknown(inverse);
    const Batch<const int> orders(pivots, 1);
    const int64_t n = all.rows();
    over_matrices(unknown.count(), n * n * n, lanes_of<T>(n, n), [&](int64_t begin, int64_t end) {
      begin = solve_lanes(all, orders, false, unknown, begin, end,
                          [&](Lanes<T>& columns, int64_t) { columns.fill_identity(n); });
      Scratch<int> order;
      for (; begin < end; ++begin)
        invert_factored(constant(all[begin]), checked_swaps(orders[begin], n, order),
                        unknown[begin]);
    });
  });
}

void lu_solution(const Tensor& result, const Tensor& LU, const Tensor& pivots, const Tensor& B,
                 bool adjoint) {
  if (result.numel() == 0) return;
  const Tensor matrices = with_batch_of(LU, result, 2), orders = with_batch_of(pivots, result, 1);
  const Tensor sides_given = with_batch_of(B, result, 2);
  visit_elements(result.dtype(), [&]<class T>() {
    const Batch<T> all(matrices), unknown(result);
    const Batch<const T> given(sides_given);
    const Batch<const int> exchanges(orders, 1);
    const int64_t n = all.rows(), sides = unknown.columns();
    over_matrices(
        unknown.count(), n * n * sides, lanes_of<T>(n, sides), [&](int64_t b, int64_t end) {
          b = solve_lanes(all, exchanges, adjoint, unknown, b, end,
                          [&](Lanes<T>& columns, int64_t first) { columns.take(given, first); });
          Scratch<int> order;
          for (; b < end; ++b) {
            const int* const swaps = checked_swaps(exchanges[b], n, order);
            copy<T>(given[b], unknown[b]);
            const auto solve = adjoint ? solve_factored_adjoint<T> : solve_factored<T>;
            solve(constant(all[b]), swaps, unknown[b]);
          }
        });
  });
}

namespace {

/// Exchanges of rows as the order that they bring rows into.
class RowOrder {
 public:
  explicit RowOrder(int64_t rows) : stood_(static_cast<size_t>(rows)) {}
  void find(const Matrix<const int>& swaps) {
    const auto n = static_cast<int64_t>(stood_.size());
    int64_t* const stood = stood_.data();
    std::iota(stood, stood + n, int64_t{0});
    for (int64_t i = 0; i < swaps.rows; ++i)
      std::swap(stood[i], stood[row_of(swaps.data[i * swaps.row_step], n)]);
  }
  /// Where row i stood.
  int64_t operator[](int64_t i) const { return stood_[static_cast<size_t>(i)]; }
  template <class T>
  void move(const Matrix<const T>& from, const Matrix<T>& to) const {
    move_rows(
        from, to, [&](int64_t i) { return stood_[static_cast<size_t>(i)]; },
        [](int64_t i) { return i; });
  }
  template <class T>
  void move_back(const Matrix<const T>& from, const Matrix<T>& to) const {
    move_rows(
        from, to, [](int64_t i) { return i; },
        [&](int64_t i) { return stood_[static_cast<size_t>(i)]; });
  }

 private:
  template <class T, class Source, class Target>
  static void move_rows(const Matrix<const T>& from, const Matrix<T>& to, const Source& source,
                        const Target& target) {
    const auto [data, rows, columns, row_step, column_step] = from;
    const int64_t to_row = to.row_step;
    for (int64_t j = 0; j < columns; ++j) {
      const T* const one = data + j * column_step;
      T* const other = to.data + j * to.column_step;
      for (int64_t i = 0; i < rows; ++i) other[target(i) * to_row] = one[source(i) * row_step];
    }
  }
  std::vector<int64_t> stood_;
};

/// Rows are moved number by number, which takes longer than a multiplication.
constexpr int64_t kMove = 4;

void write_permutations(const Tensor& P, const Tensor& pivots) {
  const int64_t m = P.size(-1);
  const Batch<const int> swaps(pivots, 1);
  const Tensor owner = empty(Shape{swaps.count(), m}, DType::int64);
  int64_t* const places = owner.data<int64_t>();  // of each row, the column of its 1
  over_matrices(swaps.count(), kMove * m, [&](int64_t begin, int64_t end) {
    RowOrder order(m);
    for (int64_t b = begin; b < end; ++b) {
      order.find(swaps[b]);
      for (int64_t j = 0; j < m; ++j) places[b * m + order[j]] = j;
    }
  });
  visit_elements(P.dtype(), [&]<class T>() {
    T* const to = P.data<T>();
    over_matrices(swaps.count() * m, m, [&](int64_t begin, int64_t end) {
      std::fill(to + begin * m, to + end * m, T(0));
      for (int64_t row = begin; row < end; ++row) to[row * m + places[row]] = T(1);
    });
  });
}

/// L and U by rows of LU's columns, in blocks that stay near while they are turned.
template <class T>
void write_factors(const Batch<const T>& given, const Batch<T>& lower, const Batch<T>& upper) {
  constexpr int64_t kBlock = 16;
  const int64_t m = given.rows(), n = given.columns(), least = std::min(m, n);
  const int64_t blocks = (m + kBlock - 1) / kBlock;
  over_matrices(given.count() * blocks, 2 * kBlock * n, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / blocks, top = task % blocks * kBlock;
      const Matrix<const T> from = given[b];
      const Matrix<T> l = lower[b], u = upper[b];
      for (int64_t left = 0; left < n; left += kBlock)
        for (int64_t i = top; i < std::min(top + kBlock, m); ++i)
          for (int64_t j = left; j < std::min(left + kBlock, n); ++j) {
            const T value = from(i, j);
            if (j < least) l(i, j) = i > j ? value : T(i == j);
            if (i < least) u(i, j) = i > j ? T(0) : value;
          }
    }
  });
}

}  // namespace

void lu_matrices(const Tensor& P, const Tensor& L, const Tensor& U, const Tensor& LU,
                 const Tensor& pivots) {
  write_permutations(P, pivots);
  visit_elements(LU.dtype(),
                 [&]<class T>() { write_factors(Batch<const T>(LU), Batch<T>(L), Batch<T>(U)); });
}

void exchanged_rows(const Tensor& result, const Tensor& self, const Tensor& pivots,
                    bool backwards) {
  const Batch<const int> swaps(pivots, 1);
  visit_elements(self.dtype(), [&]<class T>() {
    const Batch<const T> given(self);
    const Batch<T> wanted(result);
    const int64_t n = given.rows();
    over_matrices(given.count(), kMove * n * given.columns(), [&](int64_t begin, int64_t end) {
      RowOrder order(n);
      for (int64_t b = begin; b < end; ++b) {
        order.find(swaps[b]);
        backwards ? order.move_back(given[b], wanted[b]) : order.move(given[b], wanted[b]);
      }
    });
  });
}

void pivots_to_permutation(const Tensor& result, const Tensor& pivots, int64_t n) {
  const Batch<const int> swaps(pivots, 1);
  int64_t* const orders = result.data<int64_t>();
  over_matrices(swaps.count(), kMove * n, [&](int64_t begin, int64_t end) {
    RowOrder order(n);
    for (int64_t b = begin; b < end; ++b) {
      order.find(swaps[b]);
      for (int64_t i = 0; i < n; ++i) orders[b * n + i] = order[i];
    }
  });
}

}  // namespace flambeau::cpu
