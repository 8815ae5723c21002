#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"

namespace flambeau::cpu {
namespace {

template <class T>
MatrixView<complex<T>> dense_rows(int64_t m, int64_t k, MatrixView<complex<T>> a, Tensor& owner) {
  if (a.column == 1) return a;
  owner = empty(Shape{m, k}, dtype_of<complex<T>>);
  copy_matrix(m, k, a, owner.data<complex<T>>(), [](complex<T> value) { return value; });
  return {owner.data<complex<T>>(), k, 1};
}

/// Writes an element of the result, given the product.
template <class T>
void finish(const Product<complex<T>>& call, complex<T> value, complex<T>* out, int64_t column) {
  if (call.alpha != complex<T>(1)) value = call.alpha * value;
  if (call.beta != complex<T>(0)) value += call.beta * *out;
  if (call.bias) value += call.bias[column];
  *out = value;
}

/// A matrix [rows, depth] and a vector whose elements are `step` apart: two products with real
/// vectors, which read the matrix where it lies. write(i, sum) takes the results.
template <class T, class Write>
void multiply_vector(int64_t rows, int64_t depth, MatrixView<complex<T>> matrix,
                     const complex<T>* vector, int64_t step, const Write& write) {
  const bool by_columns = matrix.row == 1 && matrix.column != 1;
  Tensor copy;
  if (!by_columns) matrix = dense_rows(rows, depth, matrix, copy);
  // Of rows: (re, -im) and (im, re) of the vector. Of columns: its real parts, its imaginary parts.
  const int64_t length = by_columns ? depth : 2 * depth, sums = by_columns ? 2 * rows : rows;
  const Tensor factors = empty(Shape{2, length}, dtype_of<T>);
  const Tensor results = empty(Shape{2, sums}, dtype_of<T>);
  T *const first = factors.data<T>(), *const second = first + length;
  for (int64_t p = 0; p < depth; ++p) {
    const complex<T> value = vector[p * step];
    if (by_columns) {
      first[p] = value.re;
      second[p] = value.im;
    } else {
      first[2 * p] = second[2 * p + 1] = value.re;
      first[2 * p + 1] = -value.im;
      second[2 * p] = value.im;
    }
  }
  const MatrixView<T> real = by_columns ? MatrixView<T>{parts(matrix.data), 1, 2 * matrix.column}
                                        : MatrixView<T>{parts(matrix.data), 2 * matrix.row, 1};
  T *const u = results.data<T>(), *const v = u + sums;
  gemm_native<T>({sums, 1, length, real, {first, 1, 1}, u, 1});
  gemm_native<T>({sums, 1, length, real, {second, 1, 1}, v, 1});
  for (int64_t i = 0; i < rows; ++i)
    write(i, by_columns ? complex<T>(u[2 * i] - v[2 * i + 1], u[2 * i + 1] + v[2 * i])
                        : complex<T>(u[i], v[i]));
}

}  // namespace

template <class T>
void gemm_complex(const Product<complex<T>>& call) {
  const auto& [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  if (n == 1) {
    return multiply_vector(m, k, a, b.data, b.row, [&](int64_t i, complex<T> sum) {
      finish(call, sum, call.c + i * call.ldc, 0);
    });
  }
  if (m == 1) {
    return multiply_vector(n, k, b.transposed(), a.data, a.column,
                           [&](int64_t j, complex<T> sum) { finish(call, sum, call.c + j, j); });
  }
  gemm_tiled(call);
}

template void gemm_complex<float>(const Product<complex<float>>&);
template void gemm_complex<double>(const Product<complex<double>>&);

}  // namespace flambeau::cpu
