#include "cpu/nn/attention_backward.h"
#include "cpu/nn/attention_of_pairs.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

void attention_of_heads_grad(const Tensor& query_grad, const Tensor& key_grad,
                             const Tensor& value_grad, const Tensor& grad_output,
                             const Tensor& query, const Tensor& key, const Tensor& value,
                             const Tensor& logsum, const Tensor& moment, double scale,
                             bool is_causal) {
  with_floating(query.dtype(), "scaled_dot_product_attention", [&]<class T>() {
    if constexpr (std::is_same_v<T, bfloat16>)
      if (const AttentionOfPairs* pairs = attention_of_pairs(query, value))
        return pairs->backward(query_grad, key_grad, value_grad, grad_output, query, key, value,
                               logsum, moment, scale, is_causal);
    differentiate<T, Plain<Compute<T>>>(query_grad, key_grad, value_grad, grad_output, query, key,
                                        value, logsum, moment, scale, is_causal);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
