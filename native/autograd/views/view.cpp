#include "autograd/views/view.h"

#include <mutex>

#include "autograd/graph/anomaly.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/history.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/state.h"

namespace flambeau::autograd {

namespace {

/// The grad_fn of a view whose base was written in place after the view was taken.
struct AsStridedBackward final : Node {
  explicit AsStridedBackward(SliceRef where) : slice(std::move(where)) {}
  const char* own_name() const override { return "AsStridedBackward0"; }
  Gradients apply(Gradients&& gradients) override { return {scatter(gradients[0], slice)}; }
  SliceRef slice;
};

struct AliasBackward final : Node {
  const char* own_name() const override { return "AliasBackward0"; }
  Gradients apply(Gradients&& gradients) override { return std::move(gradients); }
};

/// What a base becomes when an operator writes into a view of it. Input 0 is the base as it was;
/// the others are the operator's further inputs. The operator's own backward runs on the slice.
class CopySlices final : public Node {
 public:
  CopySlices(Ref<Node> operation, uint32_t output, const Tensor& base, SliceRef slice)
      : operation_(std::move(operation)), slice_(std::move(slice)), output_(output) {
    operation_->extras().base_writer = this;
    operation_->extras().written = slice_;
    add_edge(gradient_edge(base));
    for (size_t i = 1; i < operation_->edges.size(); ++i) add_edge(operation_->edges[i]);
  }
  ~CopySlices() override { operation_->extras().base_writer = nullptr; }
  const char* own_name() const override { return "torch::autograd::CopySlices"; }

  Gradients apply(Gradients&& gradients) override {
    Gradients inner(operation_->output_count);
    inner[output_] = gather(gradients[0], slice_);
    Gradients results = apply_operation(std::move(inner));
    results.resize(edges.size());
    if (!wants(0)) {
      results[0] = Tensor();
      return results;
    }
    Tensor values = std::move(results[0]);
    if (values.defined() && !equal(values.sizes(), slice_->sizes)) {
      values = operations().sum_to(values, slice_->sizes);
    }
    results[0] = replace(std::move(gradients[0]), values, slice_);
    return results;
  }
  void release_saved() override { operation_->release_saved(); }
  void visit_held(HeldVisitor& visit) const override { visit.node(operation_.get()); }
  std::vector<std::pair<const char*, Tensor>> saved_tensors() const override {
    return operation_->saved_tensors();
  }

 private:
  /// The inputs line up, so what is wanted of this node is wanted of the operator.
  Gradients apply_operation(Gradients&& gradients) {
    struct Scope {
      CurrentTask previous = current_task;
      ~Scope() { current_task = previous; }
    } const scope;
    if (current_task.node == this) current_task.node = operation_.get();
    return operation_->apply(std::move(gradients));
  }

  Ref<Node> operation_;
  SliceRef slice_;
  uint32_t output_;
};

SpinLock refresh_lock;

/// The history of a view becomes that of its base and where it lies there; returns what it was.
Ref<Node> replay(State& own, const Tensor& view, const State& base) {
  auto node = make_ref<AsStridedBackward>(slice_of(view, own.base));
  node->add_edge({base.grad_fn, base.output_index});
  describe_output(*node, view, 0);
  Ref<Node> previous = std::move(own.grad_fn);
  own.grad_fn = std::move(node);
  own.output_index = 0;
  own.requires_grad = false;
  if (own.retains_grad) retain_at_history(own);
  return previous;
}

}  // namespace

void set_result_edge(const Tensor& result, const Node& node, uint32_t index) {
  State& own = state(result);
  Node* writer = node.has_extras() ? node.extras_if_any()->base_writer : nullptr;
  if (FLAMBEAU_LIKELY(!writer)) {
    own.grad_fn = Ref<Node>(const_cast<Node*>(&node));
    own.output_index = index;
    return;
  }
  auto slice = make_ref<AsStridedBackward>(node.extras_if_any()->written);
  slice->add_edge({Ref<Node>(writer), 0});
  describe_output(*slice, result, 0);
  own.grad_fn = std::move(slice);
}

void set_view(const Tensor& view, const Tensor& base, bool one_of_several) {
  // A view of an ordinary tensor is ordinary, in inference mode too.
  view.impl()->inference = base.impl()->inference;
  if (view.is_same(base)) return;
  const State* parent = state_if_any(base);
  State& own = state(view);
  own.base = parent && parent->base.defined() ? parent->base : base;
  if (!is_differentiable(view.dtype())) return;  // it has a base, and no history
  own.one_of_several = one_of_several || (parent && parent->one_of_several);
  own.made_without_grad = !grad_enabled() || (parent && parent->made_without_grad);
  const State* root = state_if_any(own.base);
  own.base_node.store(root ? root->grad_fn.get() : nullptr, std::memory_order_relaxed);
}

bool is_view(const Tensor& tensor) { return has_autograd(tensor) && state(tensor).base.defined(); }

Tensor view_base(const Tensor& tensor) {
  return has_autograd(tensor) ? state(tensor).base : Tensor();
}

void refresh_view(State& own, const Tensor& view) {
  const State* base = state_if_any(own.base);
  const Node* node = base ? base->grad_fn.get() : nullptr;
  if (FLAMBEAU_LIKELY(node == own.base_node.load(std::memory_order_acquire))) return;
  Ref<Node> previous;  // dropped after the lock
  const std::lock_guard guard(refresh_lock);
  if (node == own.base_node.load(std::memory_order_relaxed)) return;
  if (node && !own.made_without_grad) previous = replay(own, view, *base);
  own.base_node.store(node, std::memory_order_release);
}

void begin_at_base(const Tensor& view) {
  if (!is_view(view)) return;
  State& own = state(view);
  const State* base = state_if_any(own.base);
  if (!base || !base->grad_fn || own.made_without_grad) return;
  Ref<Node> previous;  // dropped after the lock
  const std::lock_guard guard(refresh_lock);
  previous = replay(own, view, *base);
}

void check_inplace(const Tensor& self, const char* op, bool records_history) {
  check(!self.impl()->inference || inference_mode, ErrorKind::runtime, op,
        "(): self was made in inference mode and cannot be written in place outside of it; clone "
        "it first");
  if (!records_history || !grad_enabled() || !has_autograd(self)) return;
  const State& own = state(self);
  if (own.base.defined()) {
    check(!own.made_without_grad, ErrorKind::runtime, op,
          "(): self is a view that was taken while grad mode was off, and is written in place "
          "while it is on; take the view with grad mode on, or write with grad mode off");
    check(!own.one_of_several, ErrorKind::runtime, op,
          "(): self is one of several views that one call made, and cannot be written in place "
          "while that is recorded; write into a slice of the base, or into a clone");
    const State* base = state_if_any(own.base);
    check(!(base && base->requires_grad && !base->grad_fn), ErrorKind::runtime, op,
          "(): self is a view of a leaf tensor that requires grad and cannot be written in place; "
          "use the out-of-place form, or write inside no_grad()");
  }
  check(!(own.requires_grad && !own.grad_fn), ErrorKind::runtime, op,
        "(): self is a leaf tensor that requires grad and cannot be written in place; use the "
        "out-of-place form, or write inside no_grad()");
}

namespace {

void move_history(State& own, const Tensor& tensor, Ref<Node> node, uint32_t index) {
  if (own.retains_grad && own.grad_fn) {
    std::erase_if(own.grad_fn->extras().retained,
                  [&](const auto& retained) { return retained.slot == own.accumulator; });
  }
  describe_output(*node, tensor, index);
  own.grad_fn = std::move(node);
  own.output_index = index;
  own.requires_grad = false;
  if (own.retains_grad) retain_at_history(own);
  if (FLAMBEAU_UNLIKELY(anomaly_enabled())) record_forward_location(*own.grad_fn);
}

}  // namespace

void rebase_history(const Tensor& self, const Ref<Node>& node, uint32_t index) {
  if (node->output_count <= index) node->output_count = index + 1;
  if (!is_differentiable(self.dtype())) return;
  State& own = state(self);
  if (!own.base.defined()) {
    move_history(own, self, node, index);
    return;
  }
  describe_output(*node, self, index);
  const Tensor base = own.base;
  auto copy = make_ref<CopySlices>(node, index, base, slice_of(self, base));
  move_history(state(base), base, copy, 0);
  refresh_view(own, self);
}

void become_view(const Tensor& self, const Tensor& view) {
  TensorImpl& to = *self.impl();
  take_geometry(to, *view.impl());
  if (to.autograd) to.autograd->follow_geometry(self);
  const State* taken = state_if_any(view);
  if (!taken) return;
  if (taken->grad_fn) move_history(state(self), self, taken->grad_fn, taken->output_index);
  if (taken->tangent.defined()) set_tangent(self, taken->tangent);
}

Tensor alias(const Tensor& tensor) {
  Tensor result = shallow_copy(tensor);
  if (grad_enabled() && requires_grad(tensor)) {
    auto node = make_ref<AliasBackward>();
    node->add_input(tensor);
    set_history(result, node);
  }
  set_view(result, tensor);
  if (has_tangent(tensor)) {
    const ForwardPause pause;
    set_tangent(result, shallow_copy(tangent(tensor)));
  }
  return result;
}

}  // namespace flambeau::autograd
