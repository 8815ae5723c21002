#pragma once

/// What units of generated kernels include before the descriptions of these, which include the
/// functions that their formulas call.

#include "core/iteration/described.h"
#include "cpu/loops.h"
#include "cpu/math.h"
#include "cpu/reduce.h"

#define FLAMBEAU_KERNELS cpu::FLAMBEAU_ISA

namespace flambeau::cpu::FLAMBEAU_ISA {

/// How described kernels are run.
struct Loops {
  static constexpr Backend backend = Backend::cpu;
  static constexpr const char* name = "CPU";

  template <class Kernel, class Stored>
  static FLAMBEAU_INLINE auto mapping(const Iterator& iter, const RandomStream& stream) {
    using Kinds = detail::Kinds<OperandsOf<typename Kernel::Outputs, Stored>,
                                OperandsOf<typename Kernel::Drawn, Stored>,
                                OperandsOf<typename Kernel::Inputs, Stored>>;
    return detail::Mapping<Kernel, Compute<Stored>>{iter, stream, Kinds::plan};
  }
  template <class Out, class In, class Fold>
  static FLAMBEAU_INLINE void reduce(const Reduction& reduction, const Fold& fold) {
    FLAMBEAU_ISA::reduce<Out, In>(reduction, fold);
  }
};

template <class... Kernels>
void register_kernels() {
  described::register_kernels<Loops, Kernels...>();
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
