// Convolutions of bfloat16 for processors that multiply matrices of them (AMX).

#ifdef __AVX512F__
#pragma GCC target("avx512bf16")
#define FLAMBEAU_BFLOAT16_PRODUCTS  // the compiler's own macro does not follow the pragma
#endif
#include "cpu/nn/matrix_conv_kernel.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
namespace {

/// The thread's matrix registers have a shape while it multiplies.
void forward(const MatrixConvBlock& block) {
  const AmxRegisters::Configured configured;
  forward_matrices<AmxRegisters>(block);
}

}  // namespace

const MatrixConvKernels* matrix_conv_kernels() {
  static constexpr MatrixConvKernels kernels{&pack_matrix_filters, &forward, &finish_matrix_row};
  return &kernels;
}
#else
const MatrixConvKernels* matrix_conv_kernels() { return nullptr; }
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
