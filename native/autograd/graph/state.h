#pragma once

#include <optional>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/node.h"

namespace flambeau::autograd {

/// What autograd knows about one tensor. Small (one cache line) and pooled.
class State final : public AutogradState {
 public:
  static void* operator new(size_t bytes) { return Pool::allocate(bytes); }
  static void operator delete(void* data, size_t bytes) noexcept { Pool::release(data, bytes); }
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() override;
  void follow_geometry(const Tensor& tensor) override;

  Ref<Node> grad_fn;                ///< null: a leaf. Of a view, read it through history()
  Ref<AccumulateGrad> accumulator;  ///< of a leaf that was used; of a retained tensor: its .grad
  Tensor base;                      ///< of a view: the tensor that owns the memory, never a view
  std::atomic<const Node*> base_node{nullptr};  ///< the base's grad_fn that a view's follows
  Tensor tangent;                               ///< forward mode
  uint32_t output_index = 0;
  bool requires_grad = false;  ///< of a leaf
  bool retains_grad = false;
  bool made_without_grad = false;  ///< a view taken while grad mode was off
  bool one_of_several = false;     ///< a view that was made with others, or a view of one
};

inline State* state_if_any(const Tensor& tensor) {
  return static_cast<State*>(tensor.impl()->autograd);
}
inline State& state(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  if (!impl->autograd) impl->autograd = new State;
  return *static_cast<State*>(impl->autograd);
}

/// Gives a view whose base was written in place since a new grad_fn.
void refresh_view(State& state, const Tensor& view);

/// The grad_fn of the tensor that `state` belongs to.
inline const Ref<Node>& history(State& state, const Tensor& tensor) {
  if (FLAMBEAU_UNLIKELY(state.base.defined())) refresh_view(state, tensor);
  return state.grad_fn;
}

/// Makes `result` what output `index` of `node` is in the graph: of an operator that wrote into a
/// view, a view of its base as that is after the write.
void set_result_edge(const Tensor& result, const Node& node, uint32_t index);

/// The accumulator of a leaf, or the holder of .grad of a tensor that retains it; made on demand.
AccumulateGrad& gradient_slot(State& state, const Tensor& tensor);

/// The dtype that the tensor's .grad must have; none: any.
FLAMBEAU_API std::optional<DType> slot_dtype(const Tensor& tensor);
/// The dtype that a leaf's gradients are converted to, none: they keep theirs. Error(runtime) for
/// what is no leaf, and for a choice that does not fit a .grad which is there.
FLAMBEAU_API std::optional<DType> grad_dtype(const Tensor& tensor);
FLAMBEAU_API void set_grad_dtype(const Tensor& tensor, std::optional<DType> dtype);

/// A new handle on the same storage and geometry, without autograd.
Tensor shallow_copy(const Tensor& tensor);

/// Sizes, strides and offset of another tensor; storage and dtype stay.
void take_geometry(TensorImpl& to, const TensorImpl& from);

/// Notes shape, dtype and device of output `index`.
void describe_output(Node& node, const Tensor& result, uint32_t index);

/// Keeps .grad of a tensor with retain_grad at its (new) grad_fn.
void retain_at_history(State& state);

}  // namespace flambeau::autograd
