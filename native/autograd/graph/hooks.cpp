#include "autograd/graph/hooks.h"

#include "autograd/graph/anomaly.h"
#include "autograd/graph/history.h"
#include "core/tensor/sparse.h"

#include <algorithm>

namespace flambeau::autograd {

namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> ids{0};
  return ++ids;
}

template <class Function>
uint64_t add(std::vector<Node::Extras::Hook<Function>>& hooks, Function&& hook, void* object,
             uint32_t output = 0) {
  const uint64_t id = next_id();
  hooks.push_back({id, std::make_shared<Function>(std::move(hook)), object, output});
  return id;
}

template <class Hooks>
void drop(Hooks& hooks, uint64_t id) {
  std::erase_if(hooks, [id](const auto& hook) { return hook.id == id; });
}

void check_replacement(const Node& node, uint32_t output, const Tensor& gradient) {
  if (output >= node.outputs.size() || !node.outputs[output].is_set) return;
  const Node::OutputInfo& expected = node.outputs[output];
  const bool wants_sparse = expected.device.backend == Backend::sparse_coo;
  const bool fits = is_sparse(gradient) ? wants_sparse || (node.is_accumulator &&
                                                           data_device(gradient) == expected.device)
                                        : gradient.device() == expected.device;
  check(equal(gradient.sizes(), expected.sizes) && gradient.dtype() == expected.dtype && fits,
        ErrorKind::runtime, "a hook on output ", output, " of ", node.name(),
        " returned a gradient of shape ", gradient.sizes(), ", dtype ", name(gradient.dtype()),
        " on ", gradient.device(), "; expected shape ", expected.sizes, ", dtype ",
        name(expected.dtype), " on ", expected.device);
}

void check_count(const Node& node, const char* kind, size_t seen, size_t expected) {
  check(seen == expected, ErrorKind::runtime, "a ", kind, " of ", node.name(), " returned ", seen,
        " gradients, expected ", expected);
}

}  // namespace

uint64_t add_tensor_hook(Node& node, uint32_t output, GradientHook hook, void* object) {
  return add(node.extras().tensor_hooks, std::move(hook), object, output);
}

uint64_t add_pre_hook(Node& node, NodePreHook hook, void* object) {
  return add(node.extras().pre_hooks, std::move(hook), object);
}

uint64_t add_post_hook(Node& node, NodePostHook hook, void* object) {
  return add(node.extras().post_hooks, std::move(hook), object);
}

uint64_t add_accumulated_hook(const Tensor& leaf, AccumulatedHook hook, void* object) {
  check(requires_grad(leaf) && is_leaf(leaf), ErrorKind::runtime,
        "register_post_accumulate_grad_hook: expected a leaf that requires grad");
  return add(gradient_edge(leaf).node->extras().accumulated_hooks, std::move(hook), object);
}

void remove_hook(Node::Extras& extras, uint64_t id) {
  drop(extras.tensor_hooks, id);
  drop(extras.pre_hooks, id);
  drop(extras.post_hooks, id);
  drop(extras.accumulated_hooks, id);
}

uint64_t add_hook(const Tensor& tensor, GradientHook hook, void* object) {
  check(requires_grad(tensor), ErrorKind::runtime,
        "register_hook: the tensor does not require grad, so no gradient will ever reach it");
  const Edge edge = gradient_edge(tensor);
  return add_tensor_hook(*edge.node, edge.index, std::move(hook), object);
}

void remove_hook(const Tensor& tensor, uint64_t id) {
  const Edge edge = gradient_edge(tensor);
  if (edge && edge.node->has_extras()) remove_hook(edge.node->extras(), id);
}

void run_tensor_hooks(Node& node, Gradients& gradients) {
  const std::shared_ptr<Node::Extras> extras = node.extras_if_any();
  const auto hooks = extras->tensor_hooks;
  for (const auto& hook : hooks) {
    if (hook.output >= gradients.size() || !gradients[hook.output].defined()) continue;
    Tensor replacement = (*hook.call)(gradients[hook.output]);
    if (!replacement.defined()) continue;
    check_replacement(node, hook.output, replacement);
    gradients[hook.output] = std::move(replacement);
  }
  for (const auto& retained : extras->retained) {
    if (retained.output < gradients.size() && gradients[retained.output].defined()) {
      retained.slot->accumulate(gradients[retained.output]);
    }
  }
}

void run_pre_hooks(Node& node, Gradients& gradients) {
  const auto hooks = node.extras_if_any()->pre_hooks;
  for (const auto& hook : hooks) {
    Gradients replacement = (*hook.call)(gradients);
    if (replacement.empty()) continue;
    check_count(node, "pre-hook", replacement.size(), gradients.size());
    for (uint32_t i = 0; i < replacement.size(); ++i) {
      if (replacement[i].defined()) check_replacement(node, i, replacement[i]);
    }
    gradients = std::move(replacement);
  }
}

void run_post_hooks(Node& node, Gradients& inputs, const Gradients& outputs) {
  const auto hooks = node.extras_if_any()->post_hooks;
  for (const auto& hook : hooks) {
    Gradients replacement = (*hook.call)(inputs, outputs);
    if (replacement.empty()) continue;
    check_count(node, "hook", replacement.size(), inputs.size());
    inputs = std::move(replacement);
  }
}

void run_accumulated_hooks(AccumulateGrad& node) {
  const auto hooks = node.extras_if_any()->accumulated_hooks;
  if (hooks.empty()) return;
  const Tensor leaf = node.leaf();
  if (!leaf.defined()) return;
  for (const auto& hook : hooks) (*hook.call)(leaf);
}

void record_forward_location(Node& node) {
  std::string& trace = node.extras().forward_trace;
  if (trace.empty() && describe_forward_location) trace = describe_forward_location();
}

}  // namespace flambeau::autograd
