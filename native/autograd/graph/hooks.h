#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/node.h"

namespace flambeau::autograd {

struct Slice;  // autograd/views/view.h

/// Called with a leaf whose .grad was added to.
using AccumulatedHook = std::function<void(const Tensor&)>;

/// What few nodes have. Lists are copied before they are run, so that a hook may change them.
struct FLAMBEAU_API Node::Extras {
  template <class Function>
  struct Hook {
    uint64_t id;
    std::shared_ptr<Function> call;
    void* object = nullptr;  ///< the Python object that it holds
    uint32_t output = 0;     ///< of a tensor hook: whose gradient it sees
  };
  struct Retained {
    uint32_t output;
    Ref<AccumulateGrad> slot;
  };
  std::vector<Hook<GradientHook>> tensor_hooks;
  std::vector<Hook<NodePreHook>> pre_hooks;
  std::vector<Hook<NodePostHook>> post_hooks;
  std::vector<Hook<AccumulatedHook>> accumulated_hooks;
  /// Of an output: saved results get it when they are unpacked at the same level.
  struct OutputTangent {
    uint32_t output, level;
    Tensor tangent;
  };
  std::vector<OutputTangent> tangents;
  std::vector<Retained> retained;  ///< outputs whose .grad is kept (retain_grad)
  /// Of an operator that wrote into a view: the node of the base, which owns this one and stands in
  /// the graph for it, and the view.
  Node* base_writer = nullptr;
  std::shared_ptr<const Slice> written;
  std::string forward_trace;       ///< anomaly mode: where the forward call was made
  std::shared_ptr<void> metadata;  ///< a dictionary of the binding
  void visit_held(HeldVisitor& visit) const;
};

/// Each returns an id, unique in the process. `object`: the Python object that the hook holds a
/// reference to.
FLAMBEAU_API uint64_t add_tensor_hook(Node& node, uint32_t output, GradientHook hook,
                                      void* object = nullptr);
FLAMBEAU_API uint64_t add_pre_hook(Node& node, NodePreHook hook, void* object = nullptr);
FLAMBEAU_API uint64_t add_post_hook(Node& node, NodePostHook hook, void* object = nullptr);
FLAMBEAU_API void remove_hook(Node::Extras& extras, uint64_t id);

/// Of a tensor.
/// Error(runtime) when the tensor does not require grad. `object`: the Python object that the hook
/// holds a reference to.
FLAMBEAU_API uint64_t add_hook(const Tensor& tensor, GradientHook hook, void* object = nullptr);
FLAMBEAU_API void remove_hook(const Tensor& tensor, uint64_t id);
/// Called with the leaf after a backward has added to its .grad. Error(runtime) unless it is a leaf
/// that requires grad.
FLAMBEAU_API uint64_t add_accumulated_hook(const Tensor& leaf, AccumulatedHook hook,
                                           void* object = nullptr);

/// For the engine: tensor hooks in order of registration, then retained gradients.
void run_tensor_hooks(Node& node, Gradients& gradients);
void run_pre_hooks(Node& node, Gradients& gradients);
void run_post_hooks(Node& node, Gradients& inputs, const Gradients& outputs);
void run_accumulated_hooks(AccumulateGrad& node);
/// Anomaly mode: notes where the forward call was made.
void record_forward_location(Node& node);

}  // namespace flambeau::autograd
