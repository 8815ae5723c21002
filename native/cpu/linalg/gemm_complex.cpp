#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"

namespace flambeau::cpu {

template <class T>
void gemm_complex(const Product<complex<T>>& call) {
  const auto [m, n, k, a, b, c, ldc, alpha, beta, bias] = call;
  const auto real = [](complex<T> value) { return value.re; };
  const auto imaginary = [](complex<T> value) { return value.im; };
  Tensor owners[4];
  const MatrixView<T> a_re = widened<T>(m, k, a, owners[0], real);
  const MatrixView<T> a_im = widened<T>(m, k, a, owners[1], imaginary);
  const MatrixView<T> b_re = widened<T>(k, n, b, owners[2], real);
  const MatrixView<T> b_im = widened<T>(k, n, b, owners[3], imaginary);
  const Tensor re = empty(Shape{m, n}, dtype_of<T>), im = empty(Shape{m, n}, dtype_of<T>);
  gemm_native<T>({m, n, k, a_im, b_im, re.data<T>(), n, T(-1)});
  gemm_native<T>({m, n, k, a_re, b_re, re.data<T>(), n, T(1), T(1)});
  gemm_native<T>({m, n, k, a_re, b_im, im.data<T>(), n});
  gemm_native<T>({m, n, k, a_im, b_re, im.data<T>(), n, T(1), T(1)});
  for (int64_t i = 0; i < m; ++i) {
    complex<T>* out = c + i * ldc;
    for (int64_t j = 0; j < n; ++j) {
      complex<T> value(re.data<T>()[i * n + j], im.data<T>()[i * n + j]);
      if (alpha != complex<T>(1)) value = alpha * value;
      if (beta != complex<T>(0)) value += beta * out[j];
      if (bias) value += bias[j];
      out[j] = value;
    }
  }
}

template void gemm_complex<float>(const Product<complex<float>>&);
template void gemm_complex<double>(const Product<complex<double>>&);

}  // namespace flambeau::cpu
