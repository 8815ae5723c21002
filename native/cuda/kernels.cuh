#pragma once

/// What units of generated kernels include before the descriptions of these.

#include "core/iteration/described.h"
#include "cuda/loops.cuh"
#include "cuda/math.cuh"
#include "cuda/reduce.cuh"

#define FLAMBEAU_KERNELS cuda

namespace flambeau::cuda {

/// How described kernels are run.
struct Loops {
  static constexpr Backend backend = Backend::cuda;
  static constexpr const char* name = "CUDA";

  template <class Kernel, class Stored>
  static auto mapping(const Iterator& iter, const RandomStream& stream) {
    return detail::Mapping<Kernel, Stored>{iter, stream};
  }
  template <class Out, class In, class Fold>
  static void reduce(const Reduction& reduction, const Fold& fold) {
    cuda::reduce<Out, In>(reduction, fold);
  }
};

template <class... Kernels>
void register_kernels() {
  described::register_kernels<Loops, Kernels...>();
}

}  // namespace flambeau::cuda
