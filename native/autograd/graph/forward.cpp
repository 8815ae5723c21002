#include "autograd/graph/forward_mode.h"

#include <mutex>
#include <unordered_set>

#include "autograd/graph/history.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/state.h"
#include "core/tensor/overlap.h"

namespace flambeau::autograd {

std::atomic<uint32_t> forward_level{0};
FLAMBEAU_FAST_TLS thread_local constinit bool forward_paused = false;

namespace {

/// The tensors and nodes that have a tangent, so that leaving the level can drop them. Tangents may
/// lead back to a node that holds them: until then, that is a cycle.
struct Registry {
  std::mutex mutex;
  std::unordered_set<State*> states;
  std::vector<std::weak_ptr<Node::Extras>> nodes;
};
Registry& registry() {
  static Registry* registry = new Registry;  // outlives tensors that die at exit
  return *registry;
}

void check_tangent(const Tensor& tensor, const Tensor& tangent) {
  check(is_differentiable(tensor.dtype()), ErrorKind::value,
        "forward mode: only floating and complex tensors can have a tangent, got dtype ",
        name(tensor.dtype()));
  check(equal(tensor.sizes(), tangent.sizes()), ErrorKind::runtime,
        "forward mode: the tangent has shape ", tangent.sizes(), ", expected the primal's ",
        tensor.sizes());
  check(tensor.dtype() == tangent.dtype(), ErrorKind::runtime,
        "forward mode: the tangent has dtype ", name(tangent.dtype()), ", expected the primal's ",
        name(tensor.dtype()));
  check(tensor.device() == tangent.device(), ErrorKind::runtime, "forward mode: the tangent is on ",
        tangent.device(), ", the primal on ", tensor.device());
}

}  // namespace

uint32_t enter_forward_level() {
  static std::atomic<uint32_t> levels{0};
  uint32_t none = 0;
  const uint32_t level = ++levels;
  check(forward_level.compare_exchange_strong(none, level), ErrorKind::runtime,
        "forward mode: a level is active already; levels do not nest");
  return level;
}

void exit_forward_level(uint32_t level) {
  check(level != 0 && forward_level.load() == level, ErrorKind::runtime, "forward mode: level ",
        level, " is not active");
  // Both die after the lock is gone: their own states leave the registry as they do.
  std::vector<Tensor> dropped;
  std::vector<std::shared_ptr<Node::Extras>> nodes;
  {
    const std::lock_guard guard(registry().mutex);
    for (State* state : registry().states) dropped.push_back(std::move(state->tangent));
    registry().states.clear();
    for (const auto& node : registry().nodes) {
      if (auto alive = node.lock()) nodes.push_back(std::move(alive));
    }
    registry().nodes.clear();
  }
  for (const auto& node : nodes) {
    for (auto& kept : node->tangents) dropped.push_back(std::move(kept.tangent));
    node->tangents.clear();
  }
  forward_level.store(0);
}

void forget_tangent(State& state) noexcept {
  const std::lock_guard guard(registry().mutex);
  registry().states.erase(&state);
}

bool has_tangent_slow(const Tensor& tensor) { return state(tensor).tangent.defined(); }

Tensor tangent(const Tensor& tensor) {
  if (!has_autograd(tensor) || forward_level.load(std::memory_order_relaxed) == 0) return Tensor();
  return state(tensor).tangent;
}

void set_tangent(const Tensor& tensor, const Tensor& tangent) {
  check(forward_level.load(std::memory_order_relaxed) != 0, ErrorKind::runtime,
        "forward mode: no level is active; enter one with dual_level()");
  if (!tangent.defined()) return;
  check_tangent(tensor, tangent);
  State& own = state(tensor);
  if (own.grad_fn) {
    own.grad_fn->extras().tangents.push_back({own.output_index, forward_level.load(), tangent});
  }
  Tensor previous = own.tangent;
  const std::lock_guard guard(registry().mutex);
  if (own.grad_fn) registry().nodes.push_back(own.grad_fn->extras_if_any());
  registry().states.insert(&own);
  own.tangent = tangent;
}

void rebase_tangent(const Tensor& self, const Tensor& tangent) {
  if (!tangent.defined()) return;
  State& own = state(self);
  if (!own.base.defined()) {
    if (own.tangent.defined() && !requires_grad(tangent) && !requires_grad(own.tangent) &&
        !has_internal_overlap(own.tangent)) {
      // Tangents of views taken earlier share this memory and follow.
      copy_data(own.tangent, tangent);
      own.tangent.bump_version();
    } else {
      set_tangent(self, tangent);
    }
    return;
  }
  const Tensor& base = own.base;
  if (!state(base).tangent.defined()) {
    const Tensor zeros = empty_strided(base.sizes(), base.strides(), base.dtype(), base.device());
    fill_data(zeros, 0);
    set_tangent(base, zeros);
  }
  const Tensor whole = state(base).tangent;
  check(!requires_grad(tangent) && !requires_grad(whole), ErrorKind::not_implemented,
        "forward mode: writing in place into a view whose tangent requires grad is not supported");
  check(equal(whole.strides(), base.strides()) && self.dtype() == base.dtype(),
        ErrorKind::not_implemented,
        "forward mode: writing in place into a view needs a base tangent with the base's strides");
  const Tensor part = make_view(whole, self.sizes(), self.strides(),
                                whole.offset() + self.offset() - base.offset());
  copy_data(part, tangent);
  whole.bump_version();
  set_tangent(self, part);
}

}  // namespace flambeau::autograd
