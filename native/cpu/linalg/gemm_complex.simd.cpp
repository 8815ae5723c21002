#include "cpu/linalg/gemm_blocks.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template <class T>
const GemmKernels<T>& gemm_kernels() {
  static constexpr GemmKernels<T> kernels{&gemm<T>, nullptr,  nullptr,        nullptr,
                                          0,        kRows<T>, kTileColumns<T>};
  return kernels;
}
template const GemmKernels<complex<float>>& gemm_kernels();
template const GemmKernels<complex<double>>& gemm_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
