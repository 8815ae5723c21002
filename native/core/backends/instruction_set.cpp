#include "core/backends/instruction_set.h"

#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/base/error.h"

namespace flambeau {

namespace {

/// The sets of x86-64-v3 and x86-64-v4, which the loops are compiled for.
InstructionSet find_supported() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
                    __builtin_cpu_supports("movbe");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return InstructionSet::avx512;
  return avx2 ? InstructionSet::avx2 : InstructionSet::baseline;
}

InstructionSet best_usable() {
  for (const auto set : {InstructionSet::avx512, InstructionSet::avx2}) {
    if (is_usable(set)) return set;
  }
  return InstructionSet::baseline;
}

InstructionSet named(std::string_view wanted) {
  for (size_t i = 0; i < std::size(kInstructionSets); ++i) {
    if (wanted == kInstructionSets[i]) return static_cast<InstructionSet>(i);
  }
  fail(ErrorKind::value, "FLAMBEAU_CPU: expected baseline, avx2 or avx512, got '", wanted, "'");
}

/// Throws for what cannot be had.
InstructionSet wanted_by_environment() {
  const char* wanted = std::getenv("FLAMBEAU_CPU");
  if (!wanted || !*wanted) return best_usable();
  const InstructionSet set = named(wanted);
  check(set <= supported_instruction_set(), ErrorKind::runtime, "FLAMBEAU_CPU=", wanted,
        ": this processor cannot run it");
  check(is_compiled(set), ErrorKind::runtime, "FLAMBEAU_CPU=", wanted,
        ": this build has no loops for it (FLAMBEAU_INSTRUCTION_SETS=all builds them)");
  return set;
}

/// Kernels choose while the library is loaded, when nobody can catch an error.
InstructionSet chosen() noexcept {
  try {
    return wanted_by_environment();
  } catch (const Error&) {
    return best_usable();
  }
}

}  // namespace

bool is_compiled(InstructionSet set) {
  if (set == InstructionSet::avx512) return kWithAvx512;
  return set == InstructionSet::baseline || kWithAvx2;
}

InstructionSet supported_instruction_set() {
  static const InstructionSet set = find_supported();
  return set;
}

bool is_usable(InstructionSet set) {
  return set <= supported_instruction_set() && is_compiled(set);
}

void check_instruction_set() { wanted_by_environment(); }

InstructionSet instruction_set() {
  static const InstructionSet set = chosen();
  return set;
}

}  // namespace flambeau
