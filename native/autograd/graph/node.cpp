#include "autograd/graph/node.h"

#include "autograd/graph/anomaly.h"
#include "autograd/graph/history.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/state.h"

namespace flambeau {

FLAMBEAU_FAST_TLS thread_local constinit bool grad_mode_enabled = true;

}  // namespace flambeau

namespace flambeau::autograd {

FLAMBEAU_FAST_TLS thread_local constinit CurrentTask current_task;
FLAMBEAU_FAST_TLS thread_local constinit uint64_t newest_sequence = 0;

Node::~Node() = default;

Node::Extras& Node::extras() {
  if (!extras_) extras_ = std::make_shared<Extras>();
  return *extras_;
}

namespace {

/// Nodes whose last reference went while another one was being destroyed, linked through their
/// sequence numbers: a chain of any length is taken down by one loop.
struct DoomedNodes {
  Node* first = nullptr;
  bool active = false;
};
FLAMBEAU_FAST_TLS thread_local constinit DoomedNodes doomed;

}  // namespace

void Node::destroy() noexcept {
  if (doomed.active) {
    sequence.store(reinterpret_cast<uintptr_t>(doomed.first), std::memory_order_relaxed);
    doomed.first = this;
    return;
  }
  doomed.active = true;
  delete this;
  while (Node* next = doomed.first) {
    doomed.first =
        reinterpret_cast<Node*>(uintptr_t{next->sequence.load(std::memory_order_relaxed)});
    delete next;
  }
  doomed.active = false;
}

void Node::add_edge(Edge edge) {
  if (edge.node) {
    const uint64_t below = edge.node->sequence.load(std::memory_order_relaxed);
    if (FLAMBEAU_UNLIKELY(below >= sequence.load(std::memory_order_relaxed))) {
      // Made by another thread, whose count is ahead of this one's.
      sequence.store(below + 1, std::memory_order_relaxed);
      if (newest_sequence <= below) newest_sequence = below + 2;
    }
  }
  edges.push_back(std::move(edge));
}

void Node::add_input(const Tensor& tensor) {
  if (!has_autograd(tensor)) {
    edges.emplace_back();
    return;
  }
  State& own = state(tensor);
  if (const Ref<Node>& node = history(own, tensor)) {
    add_edge({node, own.output_index});
  } else if (own.requires_grad) {
    AccumulateGrad& slot = gradient_slot(own, tensor);
    // In no graph yet: run it as soon as the node that uses the leaf first has run. When two
    // threads do this at once, hooks on the leaf may see its gradient in two parts.
    if (slot.use_count() == 1) {
      slot.sequence.store(sequence.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    add_edge({own.accumulator, 0});
  } else {
    edges.emplace_back();
  }
}

void Node::add_input(const Operand& operand) {
  if (operand.is_tensor()) {
    add_input(operand.tensor());
  } else {
    edges.emplace_back();
  }
}

void Node::add_input(TensorList tensors) {
  for (const Tensor& tensor : tensors) add_input(tensor);
}

void describe_output(Node& node, const Tensor& result, uint32_t index) {
  if (node.outputs.size() <= index) node.outputs.resize(index + 1);
  Node::OutputInfo& output = node.outputs[index];
  output.sizes = result.sizes();
  output.dtype = result.dtype();
  output.device = result.device();
  output.is_set = true;
}

void set_history(const Tensor& result, Ref<Node>&& node, uint32_t index) {
  if (node->output_count <= index) node->output_count = index + 1;
  if (!result.defined() || !is_differentiable(result.dtype())) {
    if (node->outputs.size() <= index) node->outputs.resize(index + 1);
    return;
  }
  describe_output(*node, result, index);
  State& own = state(result);
  own.grad_fn = std::move(node);
  own.output_index = index;
  own.requires_grad = false;
  if (FLAMBEAU_UNLIKELY(anomaly_enabled())) record_forward_location(*own.grad_fn);
}

void set_history(TensorList results, const Ref<Node>& node, uint32_t base) {
  for (const Tensor& result : results) set_history(result, node, base++);
}

}  // namespace flambeau::autograd
