#pragma once

#include <string_view>

#include "core/device.h"
#include "core/error.h"

namespace flambeau {

/// What an operator's table looks like to registration, which knows it by name.
struct FLAMBEAU_API KernelSlot {
  const char* op;
  void* kernels[kMaxBackends] = {};
  explicit KernelSlot(const char* op_name);
  [[noreturn]] void missing(Backend backend) const;
};

/// The kernels of one operator, one per backend. A call is one indexed load.
template <class Function>
class KernelTable : public KernelSlot {
 public:
  using KernelSlot::KernelSlot;
  Function* find(Backend backend) const {
    return reinterpret_cast<Function*>(kernels[static_cast<int>(backend)]);
  }
  Function* operator[](Backend backend) const {
    Function* kernel = find(backend);
    if (FLAMBEAU_UNLIKELY(!kernel)) missing(backend);
    return kernel;
  }
};

/// Puts a kernel into the operator's table; Error(runtime) when no operator has that name. While
/// libflambeau itself loads, a kernel may come before its table and waits for it.
FLAMBEAU_API void register_kernel(std::string_view op, Backend backend, void* kernel);
/// Called once, after libflambeau has loaded: from then on an unknown operator is an error at once.
/// Error(runtime) when kernels of unknown operators have been waiting.
FLAMBEAU_API void seal_registration();
/// Hands out a backend index for a name of the caller's ("opencl").
FLAMBEAU_API Backend register_backend(std::string_view name);

/// Registers at load: `static const Register add_cpu{"add", Backend::cpu, &add};`
struct Register {
  template <class Function>
  Register(std::string_view op, Backend backend, Function* kernel) {
    register_kernel(op, backend, reinterpret_cast<void*>(kernel));
  }
};

/// Instruction sets that CPU loops are compiled for; the best one the processor has is used.
enum class InstructionSet : uint8_t { baseline, avx2, avx512 };
/// Can be lowered with FLAMBEAU_CPU=baseline|avx2|avx512.
FLAMBEAU_API InstructionSet instruction_set();

}  // namespace flambeau
