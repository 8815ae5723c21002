#pragma once

#include <array>
#include <span>
#include <type_traits>

#include "autograd/graph/forward_mode.h"
#include "autograd/graph/node.h"

namespace flambeau::forms {

/// An argument that gradients flow to: a tensor, an operand that may be a number, a list of
/// tensors.
class Tracked {
 public:
  Tracked(const Tensor& tensor) : tensor_(&tensor) {}  // implicit on purpose
  Tracked(const Operand& operand)                      // implicit on purpose
      : tensor_(operand.is_tensor() ? &operand.tensor() : nullptr) {}
  Tracked(const TensorList& list) : list_(&list) {}  // implicit on purpose
  Tracked() = default;                               ///< nothing

  /// Of one that is no list.
  const Tensor& tensor() const { return *tensor_; }
  bool requires_grad() const;
  bool has_tangent() const;
  void add_to(autograd::Node& node) const;
  /// Calls function(tensor) for every tensor, undefined ones too.
  template <class Function>
  void each(const Function& function) const {
    if (tensor_) function(*tensor_);
    if (list_) {
      for (const Tensor& tensor : *list_) function(tensor);
    }
  }

 private:
  const Tensor* tensor_ = nullptr;
  const TensorList* list_ = nullptr;
};
using TrackedList = std::span<const Tracked>;

template <class T>
inline constexpr bool kIsTracked =
    std::is_same_v<T, Tensor> || std::is_same_v<T, Operand> || std::is_same_v<T, TensorList>;

/// Those of some arguments that gradients may flow to, for what takes a list of them.
template <class... Args>
auto tracked(const Args&... args) {
  std::array<Tracked, (size_t{kIsTracked<Args>} + ... + 0)> found;
  [[maybe_unused]] size_t next = 0;
  [[maybe_unused]] const auto add = [&](const auto& argument) {
    if constexpr (kIsTracked<std::remove_cvref_t<decltype(argument)>>) found[next++] = argument;
  };
  (add(args), ...);
  return found;
}

FLAMBEAU_API bool any_requires_grad(TrackedList tracked);
FLAMBEAU_API bool any_has_tangent_now(TrackedList tracked);
inline bool any_has_tangent(TrackedList tracked) {
  return autograd::forward_level.load(std::memory_order_relaxed) != 0 &&
         any_has_tangent_now(tracked);
}
/// Whether an operator on these records a node now.
inline bool is_recorded(TrackedList tracked) {
  return grad_enabled() && any_requires_grad(tracked);
}
/// Whether what is computed from a tensor now is differentiated, in either mode.
FLAMBEAU_API bool is_differentiated(const Tensor& tensor);
/// NotImplementedError naming the operator where one has a tangent, and none of the results is
/// known.
FLAMBEAU_API void refuse_tangents(TrackedList tracked, const char* op);
/// NotImplementedError naming the operator and the argument, whose derivative nobody knows.
[[noreturn]] FLAMBEAU_API void refuse_gradient(const char* op, const char* argument);
/// One input of the node per argument, in order.
FLAMBEAU_API void add_inputs(autograd::Node& node, TrackedList tracked);

}  // namespace flambeau::forms
