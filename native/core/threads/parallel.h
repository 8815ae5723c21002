#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/base/macros.h"

namespace flambeau {

/// A non-owning reference to a callable: two words, no allocation.
template <class Signature>
class FunctionRef;
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  /// A lambda, function object or function; it must outlive the reference.
  template <class Callable>
  FunctionRef(Callable&& callable)  // implicit on purpose
      : call_(&invoke<std::remove_reference_t<Callable>>) {
    if constexpr (std::is_function_v<std::remove_reference_t<Callable>>) {
      object_ = reinterpret_cast<void*>(&callable);
    } else {
      object_ = const_cast<void*>(static_cast<const void*>(&callable));
    }
  }
  Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

 private:
  template <class Callable>
  static Result invoke(void* object, Arguments... arguments) {
    return (*reinterpret_cast<Callable*>(object))(arguments...);
  }

  void* object_;
  Result (*call_)(void*, Arguments...);
};

FLAMBEAU_API int num_threads();
FLAMBEAU_API void set_num_threads(int count);
FLAMBEAU_API bool in_parallel_region();

/// Elements of cheap arithmetic below which a loop stays on one thread.
inline constexpr int64_t kGrain = 32768;
/// How many of these an element counts as that takes some instructions of vectors: moving it takes
/// as long as a few.
constexpr int64_t cheap_elements(int64_t instructions) {
  return std::max<int64_t>(1, instructions / 4);
}

/// Calls body(begin, end) on disjoint ranges that cover [begin, end), on several threads when there
/// are more than `grain` items. Serial inside another parallel region. The first exception is
/// rethrown.
FLAMBEAU_API void parallel_for(int64_t begin, int64_t end, int64_t grain,
                               FunctionRef<void(int64_t, int64_t)> body);

}  // namespace flambeau
