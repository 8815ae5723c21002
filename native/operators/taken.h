#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "core/random/generator.h"
#include "core/tensor/tensor.h"

/// Calls of operators that somebody else computes: those of tensors that stand for batches, which
/// rules of flambeau.func compute, and those that a TorchDispatchMode or a class with
/// `__torch_dispatch__` wants to see. While nobody does, a call costs nothing but the test of the
/// byte that profiles are asked for too.
namespace flambeau::forms {

/// An argument of a call, whatever its type. What it points to lives as long as the call.
using AnyArgument = std::variant<std::monostate, const Tensor*, const Scalar*, TensorList, IntList,
                                 std::span<const double>, std::span<const bool>, int64_t, double,
                                 bool, std::string_view, DType, Device, Generator*>;

/// Where in a call somebody is asked.
enum class Asked : uint8_t {
  of_batches,  ///< before it begins, of batches alone: its operators are asked of the rest
  before,      ///< before it begins; of the rest only where it records nothing
  alone,       ///< before it begins, also where it records
  inside       ///< once autograd has seen it
};

/// Set by the binding. Puts the results into `results`, one after another, or leaves the call to
/// the operator and returns false. `function` is the name in C++.
using Taker = bool (*)(const char* function, Asked asked, std::span<const AnyArgument> arguments,
                       std::vector<Tensor>& results);
extern FLAMBEAU_API Taker taker;

/// While one exists, nobody is asked on this thread.
class FLAMBEAU_API Unasked {
 public:
  Unasked();
  ~Unasked();
  Unasked(const Unasked&) = delete;
  Unasked& operator=(const Unasked&) = delete;

 private:
  bool before_;
};

namespace detail {

inline AnyArgument any(const Tensor& tensor) {
  return tensor.defined() ? AnyArgument(&tensor) : AnyArgument();
}
inline AnyArgument any(const Operand& operand) {
  return operand.is_tensor() ? any(operand.tensor()) : AnyArgument(&operand.scalar());
}
inline AnyArgument any(const Scalar& value) { return &value; }
template <class T>
requires std::is_constructible_v < AnyArgument, std::in_place_type_t<T>,
const T& > AnyArgument any(const T& value) { return AnyArgument(std::in_place_type<T>, value); }
template <class T>
AnyArgument any(const std::optional<T>& value) {
  return value ? any(*value) : AnyArgument();
}

inline constexpr size_t kAnyNumber = SIZE_MAX;

/// Whether somebody may be asked on this thread.
FLAMBEAU_API bool asks();

/// Throws a type error unless somebody gave as many results as the operator has.
FLAMBEAU_API void expect_results(const char* function, size_t given, size_t expected);

/// What the results of a taken call are to a function that returns a Result.
template <class Result>
struct Results {
  static constexpr bool are_known = false;
  using Held = std::optional<Result>;
};
template <>
struct Results<Tensor> {
  static constexpr bool are_known = true;
  static constexpr size_t count = 1;
  using Held = std::optional<Tensor>;
  static Held from(std::vector<Tensor>& found, std::span<const AnyArgument>) {
    return std::move(found[0]);
  }
};
template <>
struct Results<std::vector<Tensor>> {
  static constexpr bool are_known = true;
  static constexpr size_t count = kAnyNumber;
  using Held = std::optional<std::vector<Tensor>>;
  static Held from(std::vector<Tensor>& found, std::span<const AnyArgument>) {
    return std::move(found);
  }
};
template <class... Parts>
requires(std::is_same_v<Parts, Tensor>&&...) struct Results<std::tuple<Parts...>> {
  static constexpr bool are_known = true;
  static constexpr size_t count = sizeof...(Parts);
  using Held = std::optional<std::tuple<Parts...>>;
  static Held from(std::vector<Tensor>& found, std::span<const AnyArgument>) {
    return at(found, std::index_sequence_for<Parts...>());
  }

 private:
  template <size_t... i>
  static Held at(std::vector<Tensor>& found, std::index_sequence<i...>) {
    return std::tuple<Parts...>(std::move(found[i])...);
  }
};
/// What writes into an argument returns it.
template <>
struct Results<const Tensor&> {
  static constexpr bool are_known = true;
  static constexpr size_t count = kAnyNumber;
  using Held = const Tensor*;
  FLAMBEAU_API static Held from(std::vector<Tensor>& found, std::span<const AnyArgument> given);
};

}  // namespace detail

/// What somebody else made of a call: nothing where it is left to the operator.
template <class Result, class... Args>
[[gnu::cold, gnu::noinline]] typename detail::Results<Result>::Held taken(const char* function,
                                                                          Asked asked,
                                                                          const Args&... args) {
  if constexpr (detail::Results<Result>::are_known) {
    const std::array<AnyArgument, sizeof...(Args)> given{detail::any(args)...};
    std::vector<Tensor> found;
    if (detail::asks() && taker(function, asked, given, found)) {
      detail::expect_results(function, found.size(), detail::Results<Result>::count);
      return detail::Results<Result>::from(found, given);
    }
  }
  return {};
}

}  // namespace flambeau::forms
