#include <algorithm>
#include <vector>

#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu {

template <class T, class Wide>
void gemm_widened(const Product<T>& call) {
  const int64_t m = call.m, n = call.n, k = call.k;
  const auto widen = [](T value) { return static_cast<Wide>(value); };
  Tensor a_owner, b_owner;
  const MatrixView<Wide> wide_a = widened<Wide>(m, k, call.a, a_owner, widen);
  const MatrixView<Wide> wide_b = widened<Wide>(k, n, call.b, b_owner, widen);
  const Tensor sums = empty(Shape{m, n}, dtype_of<Wide>);
  gemm_native<Wide>({m, n, k, wide_a, wide_b, sums.data<Wide>(), n, static_cast<Wide>(call.alpha)});
  store_sums(call, sums.data<Wide>());
}

namespace {

/// A matrix with dense rows times a vector in float: rows are widened a few at a time, so that the
/// wide ones stay in the cache. `call.n` is 1.
template <class T>
void gemv_widened(const Product<T>& call) {
  const int64_t rows = call.m, columns = call.k;
  constexpr int64_t kBlock = 8192;  // elements
  const int64_t height = std::max<int64_t>(1, kBlock / columns);
  const GemmKernels<float>& kernels = gemm_kernels<float>();
  ConvertFunction* const widen = find_convert(DType::float32, dtype_of<T>);
  std::vector<float> wide_x(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; ++j)
    wide_x[static_cast<size_t>(j)] = static_cast<float>(call.b.data[j * call.b.row]);
  const int64_t grain = std::max<int64_t>(height, kGemvWork / columns);
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    float* const block = scratch<float>(2, static_cast<size_t>(height * columns));
    float* const sums = scratch<float>(3, static_cast<size_t>(height));
    for (; begin < end; begin += height) {
      const int64_t count = std::min(height, end - begin);
      for (int64_t i = 0; i < count; ++i) {
        widen(reinterpret_cast<char*>(block + i * columns),
              reinterpret_cast<const char*>(call.a.data + (begin + i) * call.a.row), columns);
      }
      kernels.gemv_rows({count, columns, block, columns, wide_x.data(), sums, call.alpha, 0});
      for (int64_t i = 0; i < count; ++i) {
        T& out = call.c[begin + i];
        const float kept = call.beta == 0 ? 0 : call.beta * static_cast<float>(out);
        out = T(sums[i] + kept + (call.bias ? static_cast<float>(call.bias[0]) : 0.f));
      }
    }
  });
}

}  // namespace

template <class T>
bool try_gemv_widened(const Product<T>& call) {
  if (call.k == 0) return false;
  if (call.n == 1 && call.a.column == 1 && (call.ldc == 1 || call.m == 1)) {
    gemv_widened<T>(call);
    return true;
  }
  if (call.m == 1 && call.b.row == 1 && !call.bias) {
    gemv_widened<T>({call.n, 1, call.k, call.b.transposed(), call.a.transposed(), call.c, 1,
                     call.alpha, call.beta});
    return true;
  }
  return false;
}

template bool try_gemv_widened<float16>(const Product<float16>&);
template bool try_gemv_widened<bfloat16>(const Product<bfloat16>&);
template void gemm_widened<float16, float>(const Product<float16>&);
template void gemm_widened<bfloat16, float>(const Product<bfloat16>&);
template void gemm_widened<uint8_t, int32_t>(const Product<uint8_t>&);
template void gemm_widened<int8_t, int32_t>(const Product<int8_t>&);
template void gemm_widened<int16_t, int32_t>(const Product<int16_t>&);

}  // namespace flambeau::cpu
