// Convolutions of bfloat16 for processors that multiply matrices of them (AMX).

#include "cpu/linalg/bfloat16_products.h"

#include "cpu/nn/matrix_conv_kernel.h"
#include "cpu/nn/matrix_grad_kernel.h"
#include "cpu/nn/matrix_pixel_kernel.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
namespace {

/// The thread's matrix registers have a shape while it multiplies.
void forward(const MatrixConvBlock& block) {
  const AmxRegisters::Configured configured;
  forward_matrices<AmxRegisters>(block);
}
void forward_pixels(const MatrixPixelBlock& block) {
  const AmxRegisters::Configured configured;
  forward_matrix_pixels<AmxRegisters>(block);
}
void add_products(const MatrixGradBlock& block) {
  const AmxRegisters::Configured configured;
  add_matrix_products<AmxRegisters>(block);
}

}  // namespace

const MatrixConvKernels* find_matrix_conv_kernels() {
  static constexpr MatrixConvKernels kernels{
      &pack_matrix_filters, &forward,        &pack_turned_filters,
      &copy_matrix_pixels,  &forward_pixels, &finish_matrix_row,
      &pack_matrix_grads,   &add_products,   &finish_matrix_grads};
  return &kernels;
}
#else
const MatrixConvKernels* find_matrix_conv_kernels() { return nullptr; }
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
