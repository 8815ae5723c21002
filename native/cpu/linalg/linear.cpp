#include "cpu/linalg/gemm.h"

namespace flambeau::cpu {

void linear(const Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const size_t rank = input.sizes().size();
  const int64_t k = input.sizes()[rank - 1];
  const int64_t n = weight.dim() == 1 ? 1 : weight.sizes()[0];
  if (result.numel() == 0) return;
  const int64_t m = result.numel() / n;
  std::optional<int64_t> step = merged_row_step(input);
  const Tensor rows = step ? input : contiguous_data(input);
  if (!step) step = k;
  const Tensor dense_bias = bias.defined() ? contiguous_data(bias) : bias;
  visit_numeric(input.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    const MatrixView<T> a{rows.data<T>(), *step, rows.strides()[rank - 1]};
    // weight is [out, in]: b is its transpose.
    const MatrixView<T> b{weight.data<T>(), weight.strides()[weight.strides().size() - 1],
                          weight.dim() == 1 ? 1 : weight.strides()[0]};
    gemm<T>({m, n, k, a, b, result.data<T>(), n, 1, 0,
             dense_bias.defined() ? dense_bias.data<T>() : nullptr});
  });
}

}  // namespace flambeau::cpu
