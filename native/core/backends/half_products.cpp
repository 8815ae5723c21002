#include "core/backends/half_products.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "core/backends/instruction_set.h"

namespace flambeau {

#if defined(__x86_64__)

bool has_matrix_products() {
  // A process asks once for the state that AMX adds to its threads.
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  static const bool has = instruction_set() == InstructionSet::avx512 &&
                          __builtin_cpu_supports("amx-bf16") &&
                          syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return has;
}

bool has_paired_products() {
  return instruction_set() == InstructionSet::avx512 && __builtin_cpu_supports("avx512bf16");
}

#else

bool has_matrix_products() { return false; }
bool has_paired_products() { return false; }

#endif

}  // namespace flambeau
