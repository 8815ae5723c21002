#include "cpu/linalg/gemm_halves.h"

#include "cpu/linalg/half_dots.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template <class T>
const HalfKernels<T>& half_kernels() {
  using Tiles = RegisterTiles<Widened<T>>;
  static constexpr HalfKernels<T> kernels{&gemm_halves<Tiles>, &dot_halves<Widened<T>>,
                                          Tiles::kRows, Tiles::kColumns};
  return kernels;
}
template const HalfKernels<float16>& half_kernels();
template const HalfKernels<bfloat16>& half_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
