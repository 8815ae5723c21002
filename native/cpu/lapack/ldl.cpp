#include "cpu/lapack/bunch_kaufman.h"
#include "kernels/linalg_least_squares.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

constexpr int64_t kFew = 16;  // rows up to which calls of LAPACK take longer than the work

template <class T>
void factor_few(const Batch<const T>& given, const Batch<T>& wanted, const Batch<int>& swaps,
                const Batch<int>& status, bool hermitian) {
  const int64_t n = given.rows();
  over_matrices(given.count(), n * n * n, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Matrix<const T> from = given[b];
      const Matrix<T> to = wanted[b];
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i) to(i, j) = i < j ? T(0) : from(i, j);
      *status[b].data = hermitian ? BunchKaufman<T, true>(to, swaps[b].data).run()
                                  : BunchKaufman<T, false>(to, swaps[b].data).run();
    }
  });
}

template <class T>
void factor_all(const Tensor& LD, const Tensor& pivots, const Tensor& info, const Tensor& A,
                bool hermitian) {
  const Batch<const T> given(A);
  const Batch<T> wanted(LD);
  const Batch<int> swaps(pivots, 1), status(info, 0);
  auto& factor = hermitian ? hetrf<T> : sytrf<T>;
  const int64_t n = given.rows();
  if (n <= kFew) return factor_few(given, wanted, swaps, status, hermitian);
  over_matrices_by_lapack(given.count(), n * n * n / 3, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch, work;
    for (int64_t b = begin; b < end; ++b) {
      const Columns<T> matrix(wanted[b], scratch);
      matrix.fill(given[b]);
      int* const failed = status[b].data;
      *failed = 0;
      T size{};
      factor('L', n, matrix.data(), matrix.step(), swaps[b].data, &size, -1, failed);
      const int64_t count = asked_size(size);
      factor('L', n, matrix.data(), matrix.step(), swaps[b].data, work.of(count), count, failed);
      for (int64_t j = 1; j < n; ++j)
        for (int64_t i = 0; i < j; ++i) matrix(i, j) = T(0);
      matrix.finish();
    }
  });
}

template <class T>
void solve_all(const Tensor& result, const Tensor& LD, const Tensor& pivots, const Tensor& B,
               bool hermitian) {
  const Batch<const T> factors(LD), sides(B);
  const Batch<const int> swaps(pivots, 1);
  const Batch<T> solutions(result);
  auto& solve = hermitian ? hetrs2<T> : sytrs2<T>;
  const int64_t n = factors.rows(), k = sides.columns();
  over_matrices_by_lapack(factors.count(), n * n * k, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch, packed, work;
    Scratch<int> order;
    for (int64_t b = begin; b < end; ++b) {
      const Matrix<T> matrix{packed.of(n * n), n, n, 1, std::max<int64_t>(n, 1)};
      copy<T>(factors[b], matrix);
      int* const own = order.of(n);
      for (int64_t i = 0; i < n; ++i) own[i] = swaps[b](i, 0);
      const Columns<T> x(solutions[b], scratch);
      x.fill(sides[b]);
      int failed = 0;
      if (n > 0 && k > 0)
        solve('L', n, k, matrix.data, matrix.column_step, own, x.data(), x.step(), work.of(n),
              &failed);
      x.finish();
    }
  });
}

/// What sytrf gives: LAPACK would follow other numbers out of the matrix.
void check_pivots(const Tensor& pivots, int64_t n) {
  const Batch<const int> all(pivots, 1);
  for (int64_t b = 0; b < all.count(); ++b) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t pivot = all[b](i, 0), row = pivot < 0 ? -pivot : pivot;
      const bool is_pair = pivot >= 0 || (i + 1 < n && all[b](i + 1, 0) < 0);
      check(row >= 1 && row <= n && is_pair, ErrorKind::runtime,
            "ldl_solution(): pivots are not those of a factorization of matrices of order ", n);
      if (pivot < 0) {
        const int64_t second = -static_cast<int64_t>(all[b](++i, 0));
        check(second <= n, ErrorKind::runtime,
              "ldl_solution(): pivots are not those of a factorization of matrices of order ", n);
      }
    }
  }
}

}  // namespace

void ldl_factors(const Tensor& LD, const Tensor& pivots, const Tensor& info, const Tensor& A,
                 bool hermitian, bool check_errors) {
  visit_elements_of_lapack(A.dtype(),
                           [&]<class T>() { factor_all<T>(LD, pivots, info, A, hermitian); });
  if (!check_errors) return;
  const int64_t failure = first_failure(info);
  if (failure < 0) return;
  const int place = *Batch<int>(info, 0)[failure].data;
  fail(ErrorKind::linalg, "ldl_factors(): ", which(info, failure), "the matrix is singular: D[",
       place - 1, ", ", place - 1, "] is zero");
}

void ldl_solution(const Tensor& result, const Tensor& LD, const Tensor& pivots, const Tensor& B,
                  bool hermitian) {
  check_pivots(pivots, LD.size(-1));
  visit_elements_of_lapack(LD.dtype(),
                           [&]<class T>() { solve_all<T>(result, LD, pivots, B, hermitian); });
}

}  // namespace flambeau::cpu
