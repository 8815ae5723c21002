#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "core/base/macros.h"
#include "instruction_sets.h"

namespace flambeau {

/// Instruction sets that CPU loops are written for, the smallest first; the best one is used that
/// was compiled and that the processor has. Their list is build_tools/shared/instruction_sets.py.
#define FLAMBEAU_SET_NAME(name, test) name,
enum class InstructionSet : uint8_t { FLAMBEAU_FOR_EACH_INSTRUCTION_SET(FLAMBEAU_SET_NAME) };
#undef FLAMBEAU_SET_NAME
#define FLAMBEAU_SET_TEXT(name, test) #name,
inline constexpr const char* kInstructionSets[] = {
    FLAMBEAU_FOR_EACH_INSTRUCTION_SET(FLAMBEAU_SET_TEXT)};
#undef FLAMBEAU_SET_TEXT
/// What FLAMBEAU_EACH_SET begins after.
struct EachSet {};
template <class... Sets>
constexpr auto listed(EachSet, Sets... sets) {
  return std::array{sets...};
}
/// Those that loops were compiled for, where this header is included.
inline constexpr auto kCompiledSets = listed(EachSet {} FLAMBEAU_EACH_SET(InstructionSet::, ));

/// Can be lowered with FLAMBEAU_CPU, to one of kInstructionSets.
FLAMBEAU_API InstructionSet instruction_set();
/// Error(value or runtime) where FLAMBEAU_CPU asks for what cannot be had.
FLAMBEAU_API void check_instruction_set();
/// The best of this processor, whether loops were compiled for it or not.
FLAMBEAU_API InstructionSet supported_instruction_set();
FLAMBEAU_API bool is_compiled(InstructionSet set);
/// Whether loops were compiled for a set that the processor has.
FLAMBEAU_API bool is_usable(InstructionSet set);

/// Of the versions of a function, one for each compiled set, that for this processor.
template <class Function, std::same_as<Function>... Better>
FLAMBEAU_INLINE Function* pick(EachSet, Function* smallest, Better*... better) {
  Function* const versions[] = {smallest, better...};
  static_assert(std::size(versions) == kCompiledSets.size());
  size_t best = 0;
  for (size_t i = 1; i < std::size(versions); ++i) {
    if (instruction_set() >= kCompiledSets[i]) best = i;
  }
  return versions[best];
}
/// The version for this processor of a function that has one in the namespace of each set.
#define FLAMBEAU_PICK(...) \
  ::flambeau::pick(::flambeau::EachSet {} FLAMBEAU_EACH_SET(&, ::__VA_ARGS__))

}  // namespace flambeau
