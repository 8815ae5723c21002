#include "autograd/graph/extent.h"

#include <unordered_set>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/history.h"
#include "autograd/graph/node.h"

namespace flambeau::autograd {

namespace {

/// Counts the elements of the tensors that it is shown.
class Counter final : public HeldVisitor {
 public:
  explicit Counter(int64_t& elements) : elements_(elements) {}
  void tensor(const Tensor& held) override {
    if (held.defined()) elements_ += held.numel();
  }
  void node(const Node*) override {}
  void object(void*) override {}
  void shared(const void*, long, std::span<void* const>) override {}

 private:
  int64_t& elements_;
};

int64_t numel(const Shape& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

}  // namespace

Extent extent_of_graphs(TensorList roots) {
  Extent extent;
  Counter counter(extent.elements);
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto meet = [&](const Node* node) {
    if (node && seen.insert(node).second) open.push_back(node);
  };
  for (const Tensor& root : roots) {
    if (!root.defined()) continue;
    const Ref<Node> node = grad_fn(root);
    if (node) {
      meet(node.get());
    } else if (requires_grad(root)) {
      extent.leaves.push_back(root);
    }
  }
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (node->is_accumulator) {
      const Tensor leaf = static_cast<const AccumulateGrad*>(node)->leaf();
      if (leaf.defined()) extent.leaves.push_back(leaf);
      continue;
    }
    for (const Node::OutputInfo& output : node->outputs) extent.elements += numel(output.sizes);
    node->visit_held(counter);
    for (const Edge& edge : node->edges) meet(edge.node.get());
  }
  return extent;
}

}  // namespace flambeau::autograd
