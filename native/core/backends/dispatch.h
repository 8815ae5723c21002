#pragma once

#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "core/backends/device.h"
#include "core/base/error.h"

namespace flambeau {

/// In place of a backend: the kernel of all that register none of their own. It is made of copies,
/// fills and views, or of other operators, and so runs wherever these do.
inline constexpr Backend kAnyBackend{0xFF};
/// The same for one that copies its arguments to the CPU and computes there.
inline constexpr Backend kOnHost{0xFE};

/// What a call does where a backend has no kernel: it is an error, or computes with formulas over
/// tensors, as gradients do.
enum class Without : uint8_t { error, formula };

/// What an operator's table looks like to registration, which knows it by name.
struct FLAMBEAU_API KernelSlot {
  const char* op;
  const char* type;                  ///< of its kernels, as typeid spells it
  void* kernels[kMaxBackends] = {};  ///< what calls find: own ones, else `shared`
  void* own[kMaxBackends] = {};
  void* shared = nullptr;
  bool shared_on_host = false;
  Without without;
  KernelSlot(const char* op_name, const char* type_name, Without without);
  void set(Backend backend, void* kernel);
  [[noreturn]] void missing(Backend backend) const;
};

/// The kernels of one operator, one per backend. A call is one indexed load.
template <class Function>
class KernelTable : public KernelSlot {
 public:
  explicit KernelTable(const char* op_name, Without without = Without::error)
      : KernelSlot(op_name, typeid(Function).name(), without) {}
  Function* find(Backend backend) const {
    return reinterpret_cast<Function*>(kernels[static_cast<int>(backend)]);
  }
  Function* operator[](Backend backend) const {
    Function* kernel = find(backend);
    if (FLAMBEAU_UNLIKELY(!kernel)) missing(backend);
    return kernel;
  }
};

/// Whether a backend has kernels in all of some tables; without data none are needed.
template <class... Functions>
bool has_kernels(Backend backend, const KernelTable<Functions>&... tables) {
  return ((tables.find(backend) != nullptr) && ...) || backend == Backend::meta;
}

/// A function whose type is known by its name alone.
struct Kernel {
  void* function;
  const char* type;
};
template <class Function>
Kernel kernel_of(Function* function) {
  return {reinterpret_cast<void*>(function), typeid(Function).name()};
}

/// Puts a kernel into the operator's table. While libraries load, a kernel may come before its
/// table and waits for it. `backend`: one of those that are known, kAnyBackend or kOnHost.
FLAMBEAU_API void register_kernel(std::string_view op, Backend backend, Kernel kernel);
/// Called after a library has loaded, the one of `package` ("": of the library's own operators).
/// Error(runtime) when kernels have other parameters than their operators' tables, or wait for
/// operators that neither it nor the library has; they are dropped. Operators of other packages may
/// be loaded later.
FLAMBEAU_API void check_registration(std::string_view package);
/// Hands out a backend index for a name of the caller's ("opencl").
FLAMBEAU_API Backend register_backend(std::string_view name);

/// How a backend comes to a kernel. `composed`, `host`: one registered for kAnyBackend, kOnHost.
enum class KernelOrigin : uint8_t { missing, own, composed, host };
struct KernelState {
  std::string op;
  KernelOrigin origin;
};
/// Every kernel table, in the order of names, as a backend finds it.
FLAMBEAU_API std::vector<KernelState> kernel_states(Backend backend);
/// Makes a backend use the composition in place of its own kernel, or its own again: for tests that
/// compare the two. False where there is no composition.
FLAMBEAU_API bool prefer_composition(std::string_view op, Backend backend, bool prefer);

/// Registers at load: `static const Register add_cpu{"add", Backend::cpu, &add};`
struct Register {
  template <class Function>
  Register(std::string_view op, Backend backend, Function* kernel) {
    register_kernel(op, backend, kernel_of(kernel));
  }
};

/// The same for a unit of generated kernels, which puts in all that it holds.
struct RegisterUnit {
  explicit RegisterUnit(void (*unit)()) { unit(); }
};

}  // namespace flambeau
