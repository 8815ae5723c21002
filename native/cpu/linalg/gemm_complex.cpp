#include <bit>
#include <cstring>
#include <type_traits>

#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"

// A row of complex numbers is one of real numbers, twice as long: products of real matrices read
// and write it where it lies, given a right factor in which each number stands as a 2x2 block.

namespace flambeau::cpu {
namespace {

template <class T>
const T* parts(const complex<T>* numbers) {
  return reinterpret_cast<const T*>(numbers);
}
template <class T>
T* parts(complex<T>* numbers) {
  return reinterpret_cast<T*>(numbers);
}

/// A line of b becomes two: each element as it is and turned by i, one of which has -im for im.
/// Of dense numbers in float, as words: `sign` says which one.
void write_blocks(const complex<float>* from, int64_t count, float sign, float* first,
                  float* second) {
  constexpr uint64_t kFirst = uint64_t{1} << 31, kSecond = uint64_t{1} << 63;
  const uint64_t of_first = sign > 0 ? kSecond : 0, of_second = sign > 0 ? 0 : kFirst;
  for (int64_t j = 0; j < count; ++j) {
    uint64_t word;
    memcpy(&word, from + j, sizeof word);
    const uint64_t one = word ^ of_first, other = std::rotl(word, 32) ^ of_second;
    memcpy(first + 2 * j, &one, sizeof one);
    memcpy(second + 2 * j, &other, sizeof other);
  }
}

/// [2k, 2n]: each element of b as [re, im; -im, re]; keeps the order in memory.
template <class T>
MatrixView<T> as_blocks(int64_t k, int64_t n, MatrixView<complex<T>> b, Tensor& owner) {
  const bool by_columns = b.row == 1 && b.column != 1;
  const int64_t lines = by_columns ? n : k, count = by_columns ? k : n;
  const int64_t line = by_columns ? b.column : b.row, step = by_columns ? b.row : b.column;
  const T sign = by_columns ? T(1) : T(-1);  // of the imaginary part in the second line
  owner = empty(Shape{4 * k * n}, dtype_of<T>);
  T* const data = owner.data<T>();
  parallel_for(
      0, lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(count, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const complex<T>* const from = b.data + i * line;
          T* const first = data + i * 4 * count;
          T* const second = first + 2 * count;
          if constexpr (std::is_same_v<T, float> && std::endian::native == std::endian::little) {
            if (step == 1) {
              write_blocks(from, count, sign, first, second);
              continue;
            }
          }
          for (int64_t j = 0; j < count; ++j) {
            const complex<T> value = from[j * step];
            first[2 * j] = second[2 * j + 1] = value.re;
            first[2 * j + 1] = -sign * value.im;
            second[2 * j] = sign * value.im;
          }
        }
      });
  if (by_columns) return {data, 1, 2 * k};
  return {data, 2 * n, 1};
}

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
  Tensor a_owner, b_owner;
  const MatrixView<complex<T>> rows = dense_rows(m, k, a, a_owner);
  const MatrixView<T> left{parts(rows.data), 2 * rows.row, 1};
  const MatrixView<T> right = as_blocks(k, n, b, b_owner);
  if (alpha.im == 0 && beta.im == 0) {
    return gemm_native<T>({m, 2 * n, 2 * k, left, right, parts(c), 2 * ldc, alpha.re, beta.re,
                           bias ? parts(bias) : nullptr});
  }
  const Tensor sums = empty(Shape{m, n}, dtype_of<complex<T>>);
  const complex<T>* const products = sums.data<complex<T>>();
  gemm_native<T>({m, 2 * n, 2 * k, left, right, parts(sums.data<complex<T>>()), 2 * n});
  parallel_for(0, m, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < call.n; ++j)
        finish(call, products[i * call.n + j], call.c + i * call.ldc + j, j);
  });
}

template void gemm_complex<float>(const Product<complex<float>>&);
template void gemm_complex<double>(const Product<complex<double>>&);

}  // namespace flambeau::cpu
