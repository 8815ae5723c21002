// Products of bfloat16 for processors that have them: AVX-512 BF16, and AMX.

#include "cpu/linalg/bfloat16_products.h"

#include "cpu/linalg/few_dots.h"
#include "cpu/linalg/gemm_halves.h"
#include "cpu/linalg/half_kernels.h"
#include "cpu/linalg/matrix_dots.h"
#include "cpu/linalg/matrix_tiles.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
namespace {

/// The thread's tile registers have a shape while it multiplies.
void gemm_by_matrices(const Product<bfloat16>& call) {
  const AmxRegisters::Configured configured;
  gemm_halves<MatrixTiles<AmxRegisters>>(call);
}

/// A single line is faster in vectors.
void dots_by_matrices(const FewLines<bfloat16>& call) {
  if (call.few == 1) return dot_lines<Paired>(call);
  const AmxRegisters::Configured configured;
  MatrixDots<AmxRegisters>::run(call);
}

}  // namespace

const HalfKernels<bfloat16>* paired_kernels() {
  using Tiles = RegisterTiles<Paired>;
  static constexpr HalfKernels<bfloat16> kernels{&gemm_halves<Tiles>, &dot_lines<Paired>,
                                                 Tiles::kRows, Tiles::kColumns};
  return &kernels;
}

const HalfKernels<bfloat16>* matrix_kernels() {
  using Tiles = MatrixTiles<AmxRegisters>;
  static constexpr HalfKernels<bfloat16> kernels{&gemm_by_matrices, &dots_by_matrices, Tiles::kRows,
                                                 Tiles::kColumns,
                                                 3 * MatrixDots<AmxRegisters>::kFew};
  return &kernels;
}
#else
const HalfKernels<bfloat16>* paired_kernels() { return nullptr; }
const HalfKernels<bfloat16>* matrix_kernels() { return nullptr; }
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
