#pragma once

#include "autograd/graph/node.h"

/// What tensors know of the graph: where they come from in it, and what changes that.
namespace flambeau::autograd {

/// Whether an operator on these inputs must be looked at by autograd at all: one load each.
inline bool has_autograd(const Tensor& tensor) {
  return tensor.defined() && tensor.impl()->autograd != nullptr;
}
inline bool has_autograd(const Operand& operand) {
  return operand.is_tensor() && has_autograd(operand.tensor());
}
FLAMBEAU_API bool has_autograd(TensorList tensors);

/// requires_grad of a tensor (leaf flag or grad_fn).
FLAMBEAU_API bool requires_grad(const Tensor& tensor);
inline bool requires_grad(const Operand& operand) {
  return operand.is_tensor() && requires_grad(operand.tensor());
}
FLAMBEAU_API bool requires_grad(TensorList tensors);

/// Makes `result` output `index` of `node`. Only floating and complex tensors get a history; for
/// others, and for undefined ones, the output stays without. Moving the node in, at its last use,
/// saves two atomic operations.
FLAMBEAU_API void set_history(const Tensor& result, Ref<Node>&& node, uint32_t index = 0);
template <class Recorded>
void set_history(const Tensor& result, const Ref<Recorded>& node, uint32_t index = 0) {
  set_history(result, Ref<Node>(node.get()), index);
}
template <class Recorded>
void set_history(const Tensor& result, Ref<Recorded>&& node, uint32_t index = 0) {
  set_history(result, Ref<Node>::adopt(node.detach()), index);
}
/// Outputs base, base + 1, ... of a list result.
FLAMBEAU_API void set_history(TensorList results, const Ref<Node>& node, uint32_t base = 0);
/// The same for an in-place result: for a view, the base's history is rebased. Edge 0 of `node`
/// must be `self`'s.
FLAMBEAU_API void rebase_history(const Tensor& self, const Ref<Node>& node, uint32_t index = 0);
/// Before a view is overwritten with what is computed from it: its gradients go to all of its first
/// base that it shows, also to what the view that it was taken of does not show.
FLAMBEAU_API void begin_at_base(const Tensor& view);
/// Before writing in place: Error(runtime) for a leaf that requires grad, or a view of one, while
/// grad mode is on.
FLAMBEAU_API void check_inplace(const Tensor& self, const char* op, bool records_history);
/// `view` shares storage with `base`. A view of a view belongs to the first base. Call it for every
/// result of a view operator, before or after set_history; `one_of_several`: one call made it and
/// others, and no write into it can be recorded.
FLAMBEAU_API void set_view(const Tensor& view, const Tensor& base, bool one_of_several = false);

FLAMBEAU_API Tensor grad(const Tensor& tensor);
/// Replaces .grad; shape, dtype and device are checked.
FLAMBEAU_API void set_grad(const Tensor& tensor, const Tensor& grad);
/// The slot itself, without a lock: not while another thread runs backward on it.
FLAMBEAU_API Tensor& mutable_grad(const Tensor& tensor);
FLAMBEAU_API void set_requires_grad(const Tensor& tensor, bool value);
FLAMBEAU_API bool is_leaf(const Tensor& tensor);
FLAMBEAU_API void retain_grad(const Tensor& tensor);
FLAMBEAU_API bool retains_grad(const Tensor& tensor);
FLAMBEAU_API Edge gradient_edge(const Tensor& tensor);
FLAMBEAU_API Ref<Node> grad_fn(const Tensor& tensor);
FLAMBEAU_API uint32_t output_index(const Tensor& tensor);
/// Shares storage and version, no history.
FLAMBEAU_API Tensor detach(const Tensor& tensor);
/// In place: the tensor becomes a leaf. Error(runtime) for a view.
FLAMBEAU_API void detach_(const Tensor& tensor);
/// Tensor.data = other: takes over storage, geometry and dtype; .grad and hooks stay. Graphs that
/// were recorded before keep the former values, and their gradients go to .grad.
FLAMBEAU_API void set_data(const Tensor& tensor, const Tensor& other);
/// The tensor becomes `view`, a view of itself: its geometry and its history.
FLAMBEAU_API void become_view(const Tensor& self, const Tensor& view);
FLAMBEAU_API bool is_view(const Tensor& tensor);
FLAMBEAU_API Tensor view_base(const Tensor& tensor);

}  // namespace flambeau::autograd
