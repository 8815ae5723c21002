#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/grad_mode.h"
#include "autograd/pool.h"
#include "core/small_vector.h"
#include "core/tensor.h"

namespace flambeau::autograd {

class Node;

/// Gets every reference that a node holds, apart from its edges (autograd/ownership.h).
class FLAMBEAU_API HeldVisitor {
 public:
  virtual ~HeldVisitor() = default;
  virtual void tensor(const Tensor& held) = 0;
  virtual void node(const Node* held) = 0;
  /// A Python object, of which the node holds a reference of its own.
  virtual void object(void* held) = 0;
  /// Python objects behind something that `references` share.
  virtual void shared(const void* owner, long references, std::span<void* const> held) = 0;
  /// Saved tensors and operands, and lists of them.
  template <class... Saved>
  void all(const Saved&... saved) {
    (one(saved), ...);
  }

 private:
  template <class Saved>
  void one(const Saved& saved) {
    saved.visit_held(*this);
  }
  template <class Saved>
  void one(const std::vector<Saved>& list) {
    for (const Saved& saved : list) saved.visit_held(*this);
  }
};

/// Where a gradient flows: input `index` of `node`.
struct Edge {
  Ref<Node> node;
  uint32_t index = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

/// Gradients, one per output (on the way in) or per input (on the way out) of an operator;
/// undefined: zero. `Gradients result(2);` holds two undefined ones.
using Gradients = SmallVector<Tensor, 4>;

/// A hook sees gradients and may replace them; an undefined (or empty) answer keeps them.
using GradientHook = std::function<Tensor(const Tensor&)>;  // on a tensor
using NodePreHook = std::function<Gradients(Gradients)>;    // before apply
using NodePostHook =
    std::function<Gradients(Gradients, const Gradients&)>;  // (grad_inputs, grad_outputs)

/// The node that this thread's engine is running and the input gradients it wants from it.
struct CurrentTask {
  const Node* node = nullptr;
  uint64_t mask = 0;
};
extern FLAMBEAU_API FLAMBEAU_FAST_TLS thread_local constinit CurrentTask current_task;

/// The sequence number of the newest node of this thread.
extern FLAMBEAU_API FLAMBEAU_FAST_TLS thread_local constinit uint64_t newest_sequence;

/// One recorded operator. Destroying a chain of nodes does not recurse. Memory is pooled.
///
/// Sequence numbers grow along every path from a leaf to a result: a node's is above those of the
/// nodes its edges lead to. The engine needs no other order.
class FLAMBEAU_API Node : public RefCounted {
 public:
  static void* operator new(size_t bytes) { return Pool::allocate(bytes); }
  static void operator delete(void* data, size_t bytes) noexcept { Pool::release(data, bytes); }

  /// Steps by two: an accumulator takes the odd number just below its first consumer.
  Node() : sequence(newest_sequence += 2) {}
  ~Node() override;
  /// "MulBackward": what grad_fn prints as.
  virtual const char* name() const = 0;
  /// Consumes gradients of the outputs (one per output, at least output_count), returns one per
  /// input edge. Called with grad mode on iff create_graph.
  virtual Gradients apply(Gradients&& gradients) = 0;
  /// Drops saved tensors (after backward without keep_graph).
  virtual void release_saved() {}
  virtual void visit_held(HeldVisitor&) const {}
  /// (name, tensor) pairs for grad_fn._saved_NAME.
  virtual std::vector<std::pair<const char*, Tensor>> saved_tensors() const { return {}; }

  /// Records that input i of the operator was `tensor` (edge to its grad_fn or accumulator; none if
  /// it needs no grad). One call per input, in order, before set_history.
  void add_input(const Tensor& tensor);
  void add_input(const Operand& operand);
  void add_input(TensorList tensors);
  /// The only way to add an edge by hand: keeps the order of sequence numbers.
  void add_edge(Edge edge);
  /// Whether the gradient of input i is wanted: in forward, that there is an edge; in apply, that
  /// this backward needs it too.
  bool wants(size_t i) const {
    return static_cast<bool>(edges[i].node) &&
           (current_task.node != this || (current_task.mask >> (i & 63) & 1));
  }
  /// Whether any of the inputs [first, last) is wanted (a list argument).
  bool wants_any(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      if (wants(i)) return true;
    }
    return false;
  }

  SmallVector<Edge, 2> edges;
  /// Grows with creation; the engine runs high numbers first. Atomic only for accumulators, which
  /// threads share.
  std::atomic<uint64_t> sequence;
  /// How many gradients apply() receives at least; outputs that are never given a history count.
  uint32_t output_count = 1;
  bool released = false;        ///< saved tensors were freed
  bool is_accumulator = false;  ///< an AccumulateGrad

  /// Shape, dtype and device of each output, for checking and for materialising zeros. An output
  /// without history has rank 0 and is_set false.
  struct OutputInfo {
    Shape sizes;
    DType dtype = DType::float32;
    Device device;
    bool is_set = false;
  };
  SmallVector<OutputInfo, 1> outputs;

  /// Hooks and anomaly information: rare, so out of line (autograd/hooks.h).
  struct Extras;
  Extras& extras();
  const std::shared_ptr<Extras>& extras_if_any() const { return extras_; }
  bool has_extras() const { return extras_ != nullptr; }
  void* python_object = nullptr;  ///< the wrapper, while alive

 protected:
  void destroy() noexcept override;

 private:
  std::shared_ptr<Extras> extras_;  // handles of hooks hold it weakly
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
/// Before writing in place: Error(runtime) for a leaf that requires grad, or a view of one, while
/// grad mode is on.
FLAMBEAU_API void check_inplace(const Tensor& self, const char* op, bool records_history);
/// `view` shares storage with `base`. A view of a view belongs to the first base. Call it for every
/// result of a view operator, before or after set_history.
FLAMBEAU_API void set_view(const Tensor& view, const Tensor& base);

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  ///< into .grad (of `inputs`, or of every leaf when there are none);
                           ///< otherwise return the gradients of `inputs`
  bool allow_unused = false;
};
/// Gradients already computed flow in; see engine.cpp for order, freeing and re-entrance.
/// `root_gradients` may be shorter than `roots`: what is missing is 1, for scalar roots only.
FLAMBEAU_API Gradients backward(TensorList roots, TensorList root_gradients, TensorList inputs,
                                const BackwardOptions& options);
/// Runs `callback` when the backward that is under way on this thread has finished; Error(runtime)
/// outside of one.
FLAMBEAU_API void queue_callback(std::function<void()> callback);

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
/// Error(runtime) when the tensor does not require grad. `object`: the Python object that the hook
/// holds a reference to.
FLAMBEAU_API uint64_t add_hook(const Tensor& tensor, GradientHook hook, void* object = nullptr);
FLAMBEAU_API void remove_hook(const Tensor& tensor, uint64_t id);
/// Called with the leaf after a backward has added to its .grad. Error(runtime) unless it is a leaf
/// that requires grad.
FLAMBEAU_API uint64_t add_accumulated_hook(const Tensor& leaf,
                                           std::function<void(const Tensor&)> hook,
                                           void* object = nullptr);
/// Shares storage and version, no history.
FLAMBEAU_API Tensor detach(const Tensor& tensor);
/// In place: the tensor becomes a leaf. Error(runtime) for a view.
FLAMBEAU_API void detach_(const Tensor& tensor);
/// Tensor.data = other: takes over storage, geometry and dtype; .grad and hooks stay. Graphs that
/// were recorded before keep the former values, and their gradients go to .grad.
FLAMBEAU_API void set_data(const Tensor& tensor, const Tensor& other);
FLAMBEAU_API bool is_view(const Tensor& tensor);
FLAMBEAU_API Tensor view_base(const Tensor& tensor);

/// Forward mode. The number of the level that is active in the process; zero: nothing to do.
extern FLAMBEAU_API std::atomic<uint32_t> forward_level;
/// Error(runtime) when a level is active already. Returns its number, never used before.
FLAMBEAU_API uint32_t enter_forward_level();
/// Drops all tangents of the level.
FLAMBEAU_API void exit_forward_level(uint32_t level);
/// The tangent at the current level, undefined if none.
FLAMBEAU_API Tensor tangent(const Tensor& tensor);
inline Tensor tangent(const Operand& operand) {
  return operand.is_tensor() ? tangent(operand.tensor()) : Tensor();
}
/// Of a fresh result (before it is saved for backward).
FLAMBEAU_API void set_tangent(const Tensor& tensor, const Tensor& tangent);
/// Of a tensor that was written in place: views of it, and its base, see the new tangent.
FLAMBEAU_API void rebase_tangent(const Tensor& self, const Tensor& tangent);
/// While this thread computes a tangent: the operators of that computation have none themselves.
extern FLAMBEAU_API FLAMBEAU_FAST_TLS thread_local constinit bool forward_paused;
class ForwardPause {
 public:
  ForwardPause() : previous_(forward_paused) { forward_paused = true; }
  ~ForwardPause() { forward_paused = previous_; }
  ForwardPause(const ForwardPause&) = delete;
  ForwardPause& operator=(const ForwardPause&) = delete;

 private:
  bool previous_;
};
FLAMBEAU_API bool has_tangent_slow(const Tensor& tensor);
/// Whether an operator on it must compute a tangent. Not inside a ForwardPause, where tangent()
/// still answers.
inline bool has_tangent(const Tensor& tensor) {
  return has_autograd(tensor) && forward_level.load(std::memory_order_relaxed) != 0 &&
         !forward_paused && has_tangent_slow(tensor);
}
inline bool has_tangent(const Operand& operand) {
  return operand.is_tensor() && has_tangent(operand.tensor());
}
inline bool has_tangent(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    if (has_tangent(tensor)) return true;
  }
  return false;
}

/// Whether gradients are differentiated themselves, backward or forward: a backward must then be
/// made of operators, and no sum may be in place.
inline bool is_tracking() {
  return grad_enabled() || forward_level.load(std::memory_order_relaxed) != 0;
}

FLAMBEAU_API bool anomaly_enabled();
FLAMBEAU_API bool anomaly_checks_nan();
FLAMBEAU_API void set_anomaly_enabled(bool enabled, bool check_nan = true);
/// Set by the binding: describes the current Python line.
extern FLAMBEAU_API std::string (*describe_forward_location)();
/// Set by the binding: shows a warning (anomaly mode); null: standard error.
extern FLAMBEAU_API void (*show_warning)(const std::string& message);

}  // namespace flambeau::autograd

#include "autograd/saved.h"  // generated nodes hold both
