#pragma once

#include "cpu/lapack/matrices.h"
#include "cpu/linalg/gemm.h"

/// Triangular systems, LU and QR factors of any size, by halves: most of the work is in products,
/// which are faster than LAPACK's and share our threads.
namespace flambeau::cpu::lapack {

/// A matrix of its own, by columns, in memory of the pool: new pages cost more than a product.
template <class T>
class Owned {
 public:
  Owned(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), memory_(empty(Shape{rows * columns}, dtype_of<T>)) {}
  Matrix<T> all() const {
    return {memory_.data<T>(), rows_, columns_, 1, std::max<int64_t>(rows_, 1)};
  }

 private:
  int64_t rows_, columns_;
  Tensor memory_;
};

/// c = alpha a @ b + beta c. Rows or columns of c are dense.
template <class T>
void multiply(const Matrix<T>& c, T alpha, const Matrix<const T>& a, const Matrix<const T>& b,
              T beta) {
  const MatrixView<T> left{a.data, a.row_step, a.column_step};
  const MatrixView<T> right{b.data, b.row_step, b.column_step};
  if (c.column_step == 1 && c.columns > 1)
    gemm<T>({c.rows, c.columns, a.columns, left, right, c.data, c.row_step, alpha, beta});
  else
    gemm<T>({c.columns, c.rows, a.columns, right.transposed(), left.transposed(), c.data,
             c.column_step, alpha, beta});
}

/// The first of two halves of `count`, whole in steps.
inline int64_t half_of(int64_t count, int64_t step) { return (count / 2 + step - 1) / step * step; }

/// A x = b for each column b, which becomes x. Rows or columns of b are dense.
template <class T>
void solve_triangle(const Matrix<const T>& a, const Matrix<T>& b, bool is_upper, bool is_unit);

/// Exchanges row k with row swaps[k] - 1, one after the other.
template <class T>
void exchange(const Matrix<T>& a, const int* swaps, int64_t count);

/// What LAPACK's getrf does. Rows or columns of a are dense, better rows. Returns the number of the
/// first pivot that is 0, from 1; 0: there is none.
template <class T>
int factor(const Matrix<T>& a, int* swaps);

/// What LAPACK's getrs does with these factors: solves A x = b for each column b.
template <class T>
void solve_factored(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& b);

/// What LAPACK's getri does with them. Rows of `inverse` are dense.
template <class T>
void invert_factored(const Matrix<const T>& factors, const int* swaps, const Matrix<T>& inverse);

/// What LAPACK's geqrf does; a lies by columns.
template <class T>
void factor_by_reflections(const Matrix<T>& a, T* tau);

/// What LAPACK's orgqr and ungqr do: the first columns of the product of k reflections, whose
/// vectors stand in `a` below the diagonal.
template <class T>
void multiply_reflections(const Matrix<T>& result, const Matrix<const T>& a, const T* tau,
                          int64_t k);

/// What LAPACK's ormqr and unmqr do: c becomes Q c or Q^H c, or c Q or c Q^H where Q does not stand
/// on the left, of the square product Q of k reflections. Rows or columns of c are dense.
template <class T>
void apply_reflections(const Matrix<T>& c, const Matrix<const T>& a, const T* tau, int64_t k,
                       bool left, bool adjoint);

}  // namespace flambeau::cpu::lapack
