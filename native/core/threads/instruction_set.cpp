#include <cstdlib>
#include <string_view>

#include "core/backends/dispatch.h"

#ifndef FLAMBEAU_BASELINE_ONLY
namespace flambeau {

namespace {
InstructionSet best_supported() {
  __builtin_cpu_init();
  // The sets of x86-64-v3 and x86-64-v4, which the loops are compiled for.
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

InstructionSet chosen() {
  const InstructionSet best = best_supported();
  const char* text = std::getenv("FLAMBEAU_CPU");
  if (!text || !*text) return best;
  const std::string_view wanted(text);
  InstructionSet set = InstructionSet::baseline;
  if (wanted == "avx512") {
    set = InstructionSet::avx512;
  } else if (wanted == "avx2") {
    set = InstructionSet::avx2;
  } else {
    check(wanted == "baseline", ErrorKind::value,
          "FLAMBEAU_CPU: expected baseline, avx2 or avx512, got '", wanted, "'");
  }
  check(set <= best, ErrorKind::runtime, "FLAMBEAU_CPU=", wanted, ": this processor cannot run it");
  return set;
}
}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet set = chosen();
  return set;
}

}  // namespace flambeau
#endif
