#pragma once

#include <type_traits>

#include "core/backends/dispatch.h"
#include "core/iteration/iterator.h"
#include "core/iteration/reduction.h"
#include "core/random/random.h"
#include "core/types/element_types.h"
#include "core/types/kernel_types.h"

/// From described kernels (core/types/kernel_types.h) to what operators' tables hold. This is the
/// same on every backend; what a backend gives is how its loops are run:
///
///     struct Loops {
///       static constexpr Backend backend = Backend::cpu;
///       static constexpr const char* name = "CPU";
///       /// What takes the formula of an element, where elements in memory are of type Stored.
///       template <class Kernel, class Stored>
///       static auto mapping(const Iterator& iter, const RandomStream& stream);
///       /// Out, In: element types in memory.
///       template <class Out, class In, class Fold>
///       static void reduce(const Reduction& reduction, const Fold& fold);
///     };
namespace flambeau::described {

/// Calls function.template operator()<T>() with the C++ type of `dtype` where a set has it; whether
/// it does.
template <DTypeSet set, class Function>
FLAMBEAU_INLINE bool visit_dtype_of(DType dtype, const Function& function) {
  switch (dtype) {
#define FLAMBEAU_VISIT(name, type, ...)                  \
  case DType::name:                                      \
    if constexpr ((set & dtype_bit(DType::name)) != 0) { \
      function.template operator()<type>();              \
      return true;                                       \
    }                                                    \
    return false;
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_VISIT)
#undef FLAMBEAU_VISIT
  }
  return false;
}

/// Error(runtime) naming the operator and the dtype, which there is no loop for.
[[noreturn]] FLAMBEAU_API void fail_without_loop(const char* op, const char* backend, DType dtype);

/// The type whose loop serves elements of type Stored.
template <class Kernel, class Stored>
constexpr auto loop_of() {
  if constexpr (Kernel::moves &&
                (std::is_same_v<Stored, float16> || std::is_same_v<Stored, bfloat16>)) {
    return std::type_identity<int16_t>();
  } else if constexpr (Kernel::ignores_sign && std::is_unsigned_v<Stored> &&
                       !std::is_same_v<Stored, bool>) {
    return std::make_signed<Stored>();
  } else {
    return std::type_identity<Stored>();
  }
}
template <class Kernel, class Stored>
using LoopOf = typename decltype(loop_of<Kernel, Stored>())::type;

/// A loop over elements, as its operator's table holds it.
template <class Loops, class Kernel>
void run(Iterator& iter, const typename Kernel::Parameters& parameters) {
  RandomStream stream{};
  if constexpr (requires { parameters.stream; }) stream = parameters.stream;
  const bool has_loop = visit_dtype_of<Kernel::dtypes>(iter.common_dtype(), [&]<class Stored>() {
    using InLoop = LoopOf<Kernel, Stored>;
    using T = Compute<InLoop>;
    Kernel::template formula<T, RealOf<T>, NumberOf<T>>(
        parameters, Loops::template mapping<Kernel, InLoop>(iter, stream));
  });
  if (!has_loop) fail_without_loop(iter.op(), Loops::name, iter.common_dtype());
}

/// A reduction, as its operator's table holds it.
template <class Loops, class Kernel>
void fold(const Reduction& reduction, const typename Kernel::Parameters& parameters) {
  const DType dtype = reduction.input_dtype();
  const bool has_loop = visit_dtype_of<Kernel::dtypes>(dtype, [&]<class Stored>() {
    using InLoop = LoopOf<Kernel, Stored>;
    using T = Compute<InLoop>;
    using Out = OperandOf<typename Kernel::Output, InLoop>;
    using Fold = typename Kernel::template Fold<T, RealOf<T>, NumberOf<T>, Compute<Out>>;
    if constexpr (std::is_empty_v<typename Kernel::Parameters>) {
      Loops::template reduce<Out, InLoop>(reduction, Fold{});
    } else {
      Loops::template reduce<Out, InLoop>(reduction, Fold{parameters});
    }
  });
  if (!has_loop) fail_without_loop(reduction.op(), Loops::name, dtype);
}

/// Puts kernels into the tables of their operators.
template <class Loops, class... Kernels>
void register_kernels() {
  const auto put = []<class Kernel>(const Kernel*) {
    if constexpr (requires { Kernel::cost; }) {
      register_kernel(Kernel::name, Loops::backend, kernel_of(&run<Loops, Kernel>));
    } else {
      register_kernel(Kernel::name, Loops::backend, kernel_of(&fold<Loops, Kernel>));
    }
  };
  (put(static_cast<const Kernels*>(nullptr)), ...);
}

}  // namespace flambeau::described
