#pragma once

/// What units of generated kernels include before the descriptions of these.

#include "core/backends/dispatch.h"
#include "cpu/loops.h"
#include "cpu/math.h"
#include "cpu/reduce.h"

#define FLAMBEAU_KERNELS cpu::FLAMBEAU_ISA

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Puts described kernels into the tables of their operators.
template <class... Kernels>
void register_kernels() {
  const auto put = []<class Kernel>(const Kernel*) {
    if constexpr (requires { Kernel::cost; }) {
      register_kernel(Kernel::name, Backend::cpu, kernel_of(&run<Kernel>));
    } else {
      register_kernel(Kernel::name, Backend::cpu, kernel_of(&fold<Kernel>));
    }
  };
  (put(static_cast<const Kernels*>(nullptr)), ...);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
