#pragma once

#include <cstdint>

#include "core/base/macros.h"

namespace flambeau {

/// Instruction sets that CPU loops are written for; the best one is used that was compiled and that
/// the processor has.
enum class InstructionSet : uint8_t { baseline, avx2, avx512 };
/// Those that were compiled, besides the baseline.
#ifndef FLAMBEAU_WITHOUT_AVX2
inline constexpr bool kWithAvx2 = true;
#else
inline constexpr bool kWithAvx2 = false;
#endif
#ifndef FLAMBEAU_WITHOUT_AVX512
inline constexpr bool kWithAvx512 = true;
#else
inline constexpr bool kWithAvx512 = false;
#endif
inline constexpr const char* kInstructionSets[] = {"baseline", "avx2", "avx512"};

/// Can be lowered with FLAMBEAU_CPU=baseline|avx2|avx512.
FLAMBEAU_API InstructionSet instruction_set();
/// Error(value or runtime) where FLAMBEAU_CPU asks for what cannot be had.
FLAMBEAU_API void check_instruction_set();
/// The best of this processor, whether loops were compiled for it or not.
FLAMBEAU_API InstructionSet supported_instruction_set();
FLAMBEAU_API bool is_compiled(InstructionSet set);
/// Whether loops were compiled for a set that the processor has.
FLAMBEAU_API bool is_usable(InstructionSet set);

/// Of the versions of a function, the one for this processor. Those that were not compiled are
/// never referred to: the choice folds away.
template <class Function>
FLAMBEAU_INLINE Function* pick(Function* baseline, Function* avx2, Function* avx512) {
  if (kWithAvx512 && instruction_set() == InstructionSet::avx512) return avx512;
  if (kWithAvx2 && instruction_set() == InstructionSet::avx2) return avx2;
  return baseline;
}
template <class Function>
FLAMBEAU_INLINE Function* pick(Function* only) {
  return only;
}

}  // namespace flambeau
