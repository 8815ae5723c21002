#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autograd/graph/grad_mode.h"
#include "autograd/graph/held.h"
#include "autograd/graph/pool.h"
#include "core/base/small_vector.h"
#include "core/tensor/tensor.h"

namespace flambeau::autograd {

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
  /// "MulBackward0".
  virtual const char* own_name() const = 0;
  /// What grad_fn prints as.
  const char* name() const { return label ? label : own_name(); }
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
  /// Of the last node that an operator made of others records: what that is called, for as long as
  /// the process lasts.
  const char* label = nullptr;

  /// Shape, dtype and device of each output, for checking and for materialising zeros. An output
  /// without history has rank 0 and is_set false.
  struct OutputInfo {
    Shape sizes;
    DType dtype = DType::float32;
    Device device;
    bool is_set = false;
  };
  SmallVector<OutputInfo, 1> outputs;

  /// Hooks and anomaly information: rare, so out of line (autograd/graph/hooks.h).
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

}  // namespace flambeau::autograd
