#include "cpu/nn/attention_forward.h"
#include "cpu/nn/attention_of_pairs.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Rows that attend to no key: zeros over zero.
template <class T>
void attend_to_none(const Tensor& result, const Tensor& logsum) {
  using C = Compute<T>;
  std::fill_n(result.data<T>(), result.numel(), T(0));
  std::fill_n(logsum.data<C>(), logsum.numel(), -std::numeric_limits<C>::infinity());
}

}  // namespace

void attention_of_heads(const Tensor& result, const Tensor& logsum, const Tensor& query,
                        const Tensor& key, const Tensor& value, double scale, bool is_causal) {
  with_floating(query.dtype(), "scaled_dot_product_attention", [&]<class T>() {
    if (!Heads(query, key, value, is_causal).has_scores()) return attend_to_none<T>(result, logsum);
    if constexpr (std::is_same_v<T, bfloat16>)
      if (const AttentionOfPairs* pairs = attention_of_pairs(query, value))
        return pairs->forward(result, logsum, query, key, value, scale, is_causal);
    attend<T, Plain<Compute<T>>>(result, logsum, query, key, value, scale, is_causal);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
