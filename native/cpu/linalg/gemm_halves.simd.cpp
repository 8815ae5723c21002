#include "cpu/linalg/gemm_halves.h"

#include "cpu/linalg/few_dots.h"
#include "cpu/linalg/half_kernels.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template <class T>
const HalfKernels<T>& half_kernels() {
  using Tiles = RegisterTiles<Widened<T>>;
  static constexpr HalfKernels<T> kernels{&gemm_halves<Tiles>, &dot_lines<Widened<T>>, Tiles::kRows,
                                          Tiles::kColumns};
  return kernels;
}
template const HalfKernels<float16>& half_kernels();
template const HalfKernels<bfloat16>& half_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
