#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"

namespace flambeau::cpu {

template <class T>
void gemm_complex(const Product<complex<T>>& call) {
  const int64_t m = call.m, n = call.n, k = call.k;
  const MatrixView<complex<T>> a = call.a, b = call.b;
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
  const int64_t grain = std::max<int64_t>(1, kGrain / n);
  parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      complex<T>* const out = call.c + i * call.ldc;
      for (int64_t j = 0; j < call.n; ++j) {
        complex<T> value(re.data<T>()[i * call.n + j], im.data<T>()[i * call.n + j]);
        if (call.alpha != complex<T>(1)) value = call.alpha * value;
        if (call.beta != complex<T>(0)) value += call.beta * out[j];
        if (call.bias) value += call.bias[j];
        out[j] = value;
      }
    }
  });
}

template void gemm_complex<float>(const Product<complex<float>>&);
template void gemm_complex<double>(const Product<complex<double>>&);

}  // namespace flambeau::cpu
