#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"

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

template void gemm_widened<uint8_t, int32_t>(const Product<uint8_t>&);
template void gemm_widened<int8_t, int32_t>(const Product<int8_t>&);
template void gemm_widened<int16_t, int32_t>(const Product<int16_t>&);

}  // namespace flambeau::cpu
