#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/grad_mode.h"
#include "core/tensor.h"

namespace flambeau::autograd {

class Node;

/// Where a gradient flows: input `index` of `node`.
struct Edge {
  Ref<Node> node;
  uint32_t index = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

/// Gradients, one per output (on the way in) or per input (on the way out) of an operator;
/// undefined: zero.
using Gradients = std::vector<Tensor>;

/// A hook sees gradients and may replace them.
using GradientHook = std::function<Tensor(const Tensor&)>;  // on a tensor
using NodePreHook = std::function<Gradients(Gradients)>;    // before apply
using NodePostHook =
    std::function<Gradients(Gradients, const Gradients&)>;  // (grad_inputs, grad_outputs)

/// One recorded operator. Destroying a chain of nodes does not recurse.
class FLAMBEAU_API Node : public RefCounted {
 public:
  Node();
  ~Node() override;
  /// "MulBackward": what grad_fn prints as.
  virtual const char* name() const = 0;
  /// Consumes gradients of the outputs, returns one per input edge. Called with grad mode on iff
  /// create_graph.
  virtual Gradients apply(Gradients&& gradients) = 0;
  /// Drops saved tensors (after backward without retain_graph).
  virtual void release_saved() {}
  /// (name, tensor) pairs for grad_fn._saved_NAME.
  virtual std::vector<std::pair<const char*, Tensor>> saved_tensors() const { return {}; }

  /// Records that input i of the operator was `tensor` (edge to its grad_fn or accumulator; none if
  /// it needs no grad).
  void add_input(const Tensor& tensor);
  void add_input(const Operand& operand);
  /// Whether the gradient of input i is wanted.
  bool wants(size_t i) const {
    return static_cast<bool>(edges[i].node) && (task_mask_ >> (i & 63) & 1);
  }

  std::vector<Edge> edges;
  uint64_t sequence = 0;  ///< grows with creation; the engine runs high numbers first
  uint32_t output_count = 1;
  bool released = false;  ///< saved tensors were freed

  /// Shapes, dtype and device of each output, for checking and for materialising zeros.
  struct OutputInfo {
    Shape sizes;
    DType dtype;
    Device device;
  };
  std::vector<OutputInfo> outputs;

  /// Hooks and anomaly information: rare, so out of line.
  struct Extras;
  Extras& extras();
  bool has_extras() const { return extras_ != nullptr; }
  void* python_object = nullptr;  ///< the wrapper, while alive

 protected:
  void destroy() noexcept override;

 private:
  friend class Engine;
  uint64_t task_mask_ = ~uint64_t{0};  // engine: which input gradients the current backward wants
  std::unique_ptr<Extras> extras_;
};

struct Node::Extras {
  std::vector<std::pair<uint64_t, NodePreHook>> pre_hooks;
  std::vector<std::pair<uint64_t, NodePostHook>> post_hooks;
  std::vector<std::pair<uint32_t, std::pair<uint64_t, GradientHook>>>
      tensor_hooks;                                   ///< (output, (id, hook))
  std::vector<std::pair<uint32_t, Tensor>> retained;  ///< outputs whose .grad is kept (retain_grad)
  std::string forward_trace;  ///< anomaly mode: where the forward call was made
};

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

/// Makes `result` output `index` of `node`. Only floating and complex tensors.
FLAMBEAU_API void set_history(const Tensor& result, const Ref<Node>& node);
/// The same for an in-place result: handles views (the base's history is rebased) .
FLAMBEAU_API void rebase_history(const Tensor& self, const Ref<Node>& node);
/// Before writing in place: Error(runtime) for a leaf that requires grad, or a view of one, while
/// grad mode is on.
FLAMBEAU_API void check_inplace(const Tensor& self, const char* op, bool records_history);
/// `view` shares storage with `base`; `replay` recomputes it from a tensor of the base's geometry
/// (null: as_strided).
FLAMBEAU_API void set_view(const Tensor& view, const Tensor& base);

/// A tensor kept for backward. Knows its version; a result is kept without its grad_fn to avoid a
/// cycle.
class FLAMBEAU_API SavedTensor {
 public:
  SavedTensor() = default;
  /// `name`: as declared ("self"); `is_result`: an output of `node`'s own operator.
  SavedTensor(const Tensor& tensor, const char* name, bool is_result = false);
  /// Error(runtime) naming operator, tensor, version found and expected when it was written to
  /// since, or when it was already freed.
  Tensor unpack(const Node& node) const;
  bool defined() const { return tensor_.defined(); }
  void reset() { tensor_ = Tensor(); }

 private:
  Tensor tensor_;
  const char* name_ = "";
  uint32_t version_ = 0, output_index_ = 0;
  bool is_result_ = false;
};

/// An Operand kept for backward.
class SavedOperand {
 public:
  SavedOperand() = default;
  SavedOperand(const Operand& operand, const char* name) {
    if (operand.is_tensor()) {
      saved_ = SavedTensor(operand.tensor(), name);
    } else {
      scalar_ = operand.scalar();
    }
  }
  /// Fills `holder` so that the returned Operand stays valid.
  Operand unpack(const Node& node, Tensor& holder) const {
    if (!saved_.defined()) return Operand(scalar_);
    holder = saved_.unpack(node);
    return Operand(holder);
  }
  void reset() { saved_.reset(); }

 private:
  SavedTensor saved_;
  Scalar scalar_;
};

/// Gradients already computed flow in; see Engine in engine.cpp for order, freeing and re-entrance.
struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  ///< into .grad of leaves; otherwise return those of `inputs`
  bool allow_unused = false;
};
FLAMBEAU_API Gradients backward(TensorList roots, TensorList root_gradients, TensorList inputs,
                                const BackwardOptions& options);

FLAMBEAU_API Tensor& mutable_grad(const Tensor& tensor);
FLAMBEAU_API Tensor grad(const Tensor& tensor);
FLAMBEAU_API void set_requires_grad(const Tensor& tensor, bool value);
FLAMBEAU_API bool is_leaf(const Tensor& tensor);
FLAMBEAU_API void retain_grad(const Tensor& tensor);
FLAMBEAU_API bool retains_grad(const Tensor& tensor);
FLAMBEAU_API Edge gradient_edge(const Tensor& tensor);
FLAMBEAU_API Ref<Node> grad_fn(const Tensor& tensor);
FLAMBEAU_API uint64_t add_hook(const Tensor& tensor, GradientHook hook);
FLAMBEAU_API void remove_hook(const Tensor& tensor, uint64_t id);
/// Shares storage and version, no history.
FLAMBEAU_API Tensor detach(const Tensor& tensor);
FLAMBEAU_API bool is_view(const Tensor& tensor);
FLAMBEAU_API Tensor view_base(const Tensor& tensor);

/// Forward mode: the tangent at the current level, undefined if none.
FLAMBEAU_API Tensor tangent(const Tensor& tensor);
inline Tensor tangent(const Operand& operand) {
  return operand.is_tensor() ? tangent(operand.tensor()) : Tensor();
}
FLAMBEAU_API void set_tangent(const Tensor& tensor, const Tensor& tangent);
FLAMBEAU_API bool has_tangent(const Tensor& tensor);
inline bool has_tangent(const Operand& operand) {
  return operand.is_tensor() && has_tangent(operand.tensor());
}

FLAMBEAU_API bool anomaly_enabled();
FLAMBEAU_API void set_anomaly_enabled(bool enabled);
/// Set by the binding: describes the current Python line.
extern FLAMBEAU_API std::string (*describe_forward_location)();

}  // namespace flambeau::autograd
