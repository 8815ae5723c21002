#include <algorithm>

#include "cpu/linalg/gemm_strategies.h"

namespace flambeau::cpu {
namespace {

/// Writes an element of the result, given the product.
template <class T>
void finish(const Product<complex<T>>& call, complex<T> value, complex<T>* out, int64_t column) {
  if (call.alpha != complex<T>(1)) value = call.alpha * value;
  if (call.beta != complex<T>(0)) value += call.beta * *out;
  if (call.bias) value += call.bias[column];
  *out = value;
}

/// The products of a matrix [rows, depth], whose rows are dense, and each of `count` vectors: one
/// with twice as many real vectors, (re, -im) and (im, re) of each, which reads the matrix where it
/// lies. write(i, v, sum) takes the results.
template <class T, class Write>
void multiply_vectors(int64_t rows, int64_t depth, MatrixView<complex<T>> matrix, int64_t count,
                      MatrixView<complex<T>> vectors, const Write& write) {
  const Tensor factors = empty(Shape{2 * count, 2 * depth}, dtype_of<T>);
  const Tensor results = empty(Shape{2 * count, rows}, dtype_of<T>);
  T* const factor = factors.data<T>();
  for (int64_t v = 0; v < count; ++v) {
    T *const first = factor + 4 * v * depth, *const second = first + 2 * depth;
    for (int64_t p = 0; p < depth; ++p) {
      const complex<T> value = vectors.data[v * vectors.row + p * vectors.column];
      first[2 * p] = second[2 * p + 1] = value.re;
      first[2 * p + 1] = -value.im;
      second[2 * p] = value.im;
    }
  }
  T* const result = results.data<T>();
  gemm_native<T>({2 * count,
                  rows,
                  2 * depth,
                  {factor, 2 * depth, 1},
                  {parts(matrix.data), 1, 2 * matrix.row},
                  result,
                  rows});
  for (int64_t v = 0; v < count; ++v)
    for (int64_t i = 0; i < rows; ++i)
      write(i, v, {result[2 * v * rows + i], result[(2 * v + 1) * rows + i]});
}

/// How many vectors are faster multiplied where the matrix lies than with one that is packed: the
/// more, the longer the sums.
template <class T>
int64_t few_vectors(int64_t depth) {
  constexpr int64_t kMost = 12, kDepth = sizeof(T) == 4 ? 64 : 256;
  return std::clamp<int64_t>(depth / kDepth, 1, kMost);
}

/// Whether the transpose of the result is computed faster: what is packed then is the smaller
/// factor, or what is read where it lies is dense.
template <class T>
bool is_better_turned(const Product<complex<T>>& call) {
  constexpr int64_t kFew = 64, kVeryFew = 8, kLarge = 1 << 16;
  const auto& [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  if (n == 1) return m > 1;
  if (m < n) return m <= kFew && b.row == 1 && n * k > kLarge;
  return n <= kVeryFew && n < m && a.row == 1 && m * k > kLarge;
}

/// Computes the transpose of the result.
template <class T>
void multiply_turned(const Product<complex<T>>& call) {
  const Tensor turned = empty(Shape{call.n, call.m}, dtype_of<complex<T>>);
  const auto* const from = turned.data<complex<T>>();
  gemm_tiled<complex<T>>({call.n, call.m, call.k, call.b.transposed(), call.a.transposed(),
                          turned.data<complex<T>>(), call.m});
  for (int64_t i = 0; i < call.m; ++i)
    for (int64_t j = 0; j < call.n; ++j)
      finish(call, from[j * call.m + i], call.c + i * call.ldc + j, j);
}

}  // namespace

template <class T>
void gemm_complex(const Product<complex<T>>& call) {
  const auto& [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  const int64_t few = few_vectors<T>(k);
  if (n <= few && n < m && a.column == 1)
    return multiply_vectors(m, k, a, n, b.transposed(), [&](int64_t i, int64_t j, complex<T> sum) {
      finish(call, sum, call.c + i * call.ldc + j, j);
    });
  if (m <= few && b.row == 1)
    return multiply_vectors(n, k, b.transposed(), m, a, [&](int64_t j, int64_t i, complex<T> sum) {
      finish(call, sum, call.c + i * call.ldc + j, j);
    });
  if (is_better_turned(call)) return multiply_turned(call);
  gemm_tiled(call);
}

template void gemm_complex<float>(const Product<complex<float>>&);
template void gemm_complex<double>(const Product<complex<double>>&);

}  // namespace flambeau::cpu
