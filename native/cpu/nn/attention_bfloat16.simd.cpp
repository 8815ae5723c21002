// Attention of bfloat16 for processors that multiply pairs of them (AVX-512 BF16), or matrices
// (AMX).

#include "cpu/linalg/bfloat16_products.h"

#include "cpu/nn/attention_backward.h"
#include "cpu/nn/attention_forward.h"
#include "cpu/nn/attention_matrices.h"
#include "cpu/nn/attention_of_pairs.h"
#include "cpu/nn/attention_pairs.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

const AttentionOfPairs* compiled_attention_of_pairs() {
#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
  using InMatrices = Matrices<AmxRegisters>;
  static constexpr AttentionOfPairs pairs{&attend<bfloat16, Pairs>,
                                          &differentiate<bfloat16, Pairs>};
  static constexpr AttentionOfPairs matrices{&attend<bfloat16, InMatrices>,
                                             &differentiate<bfloat16, InMatrices>};
  return has_matrix_products() ? &matrices : &pairs;
#else
  return nullptr;
#endif
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
