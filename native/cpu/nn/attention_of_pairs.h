#pragma once

#include "core/backends/half_products.h"
#include "core/tensor/tensor.h"

// Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Attention of bfloat16 whose products are those of pairs.
struct AttentionOfPairs {
  void (*forward)(const Tensor& result, const Tensor& logsum, const Tensor& query,
                  const Tensor& key, const Tensor& value, double scale, bool is_causal);
  void (*backward)(const Tensor& query_grad, const Tensor& key_grad, const Tensor& value_grad,
                   const Tensor& grad_output, const Tensor& query, const Tensor& key,
                   const Tensor& value, const Tensor& logsum, const Tensor& moment, double scale,
                   bool is_causal);
};

/// Null where this instruction set, or the compiler's, has no such products.
const AttentionOfPairs* compiled_attention_of_pairs();

/// Null where the processor has no such products, or features or values are not even in number.
inline const AttentionOfPairs* attention_of_pairs(const Tensor& query, const Tensor& value) {
  const bool are_even = query.sizes()[2] % 2 == 0 && value.sizes()[2] % 2 == 0;
  return are_even && has_paired_products() ? compiled_attention_of_pairs() : nullptr;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
