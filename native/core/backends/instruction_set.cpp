#include "core/backends/instruction_set.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace flambeau {

namespace {

/// Whether the processor has each set.
std::array<bool, std::size(kInstructionSets)> find_supported() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
#define FLAMBEAU_SET_TEST(name, test) test,
  return {FLAMBEAU_FOR_EACH_INSTRUCTION_SET(FLAMBEAU_SET_TEST)};
#undef FLAMBEAU_SET_TEST
}

InstructionSet best_usable() {
  InstructionSet best = InstructionSet::baseline;
  for (size_t i = 0; i < std::size(kInstructionSets); ++i) {
    const auto set = static_cast<InstructionSet>(i);
    if (is_usable(set)) best = set;
  }
  return best;
}

InstructionSet named(std::string_view wanted) {
  for (size_t i = 0; i < std::size(kInstructionSets); ++i) {
    if (wanted == kInstructionSets[i]) return static_cast<InstructionSet>(i);
  }
  std::string known;
  for (const char* name : kInstructionSets)
    known += (known.empty() ? "" : ", ") + std::string(name);
  fail(ErrorKind::value, "FLAMBEAU_CPU: expected one of ", known, ", got '", wanted, "'");
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
  return std::ranges::find(kCompiledSets, set) != std::end(kCompiledSets);
}

InstructionSet supported_instruction_set() {
  static const InstructionSet best = [] {
    const auto supported = find_supported();
    size_t found = 0;
    while (found + 1 < supported.size() && supported[found + 1]) ++found;
    return static_cast<InstructionSet>(found);
  }();
  return best;
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
