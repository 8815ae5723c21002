// Products of bfloat16 pairs, for processors with AVX-512 BF16.

#ifdef __AVX512F__
#pragma GCC target("avx512bf16")
#define FLAMBEAU_BFLOAT16_PRODUCTS  // the compiler's own macro does not follow the pragma
#endif
#include "cpu/linalg/gemm_blocks.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

const GemmKernels<Bfloat16Pair>* bfloat16_kernels() {
#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
  static constexpr GemmKernels<Bfloat16Pair> kernels{&gemm<Bfloat16Pair>, nullptr, nullptr,
                                                     kTileRows, kTileColumns<Bfloat16Pair>};
  return &kernels;
#else
  return nullptr;
#endif
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
