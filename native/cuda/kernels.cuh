#pragma once

/// What units of generated kernels include before the descriptions of these.

#include "core/backends/dispatch.h"
#include "cuda/loops.cuh"
#include "cuda/math.cuh"
#include "cuda/reduce.cuh"

#define FLAMBEAU_KERNELS cuda

namespace flambeau::cuda {

/// Puts described kernels into the tables of their operators.
template <class... Kernels>
void register_kernels() {
  const auto put = []<class Kernel>(const Kernel*) {
    if constexpr (requires { Kernel::cost; }) {
      register_kernel(Kernel::name, Backend::cuda, kernel_of(&run<Kernel>));
    } else {
      register_kernel(Kernel::name, Backend::cuda, kernel_of(&fold<Kernel>));
    }
  };
  (put(static_cast<const Kernels*>(nullptr)), ...);
}

}  // namespace flambeau::cuda
