#include "autograd/engine/selection.h"

namespace flambeau::autograd {

Selection::Selection(std::span<const Ref<Node>> roots, std::span<const Edge> inputs,
                     bool accumulates) {
  const auto order = [](const Node& node) { return node.sequence.load(std::memory_order_relaxed); };
  uint64_t lowest = ~uint64_t{0};
  for (const Edge& edge : inputs) {
    if (edge) lowest = std::min(lowest, order(*edge.node));
  }

  // Nodes below the lowest input cannot lead to one.
  std::vector<const Node*> reached;
  NodeTable seen;
  const auto reach = [&](const Node* node) {
    if (order(*node) < lowest || seen.find(node) != NodeTable::kMissing) return;
    seen.insert(node, 0);
    reached.push_back(node);
  };
  for (const Ref<Node>& root : roots) reach(root.get());
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& edge : reached[i]->edges) {
      if (edge) reach(edge.node.get());
    }
  }
  std::sort(reached.begin(), reached.end(),
            [&](const Node* a, const Node* b) { return order(*a) < order(*b); });

  const auto info_of = [&](const Node* node) -> Info& {
    uint32_t index = table_.find(node);
    if (index == NodeTable::kMissing) {
      index = static_cast<uint32_t>(infos_.size());
      infos_.push_back({node});
      table_.insert(node, index);
    }
    return infos_[index];
  };
  captures_.reserve(inputs.size());
  for (const Edge& edge : inputs) {
    captures_.push_back({edge, NodeTable::kMissing, Tensor()});
    if (!edge) continue;
    Info& info = info_of(edge.node.get());
    captures_.back().next = info.capture;
    info.capture = static_cast<uint32_t>(captures_.size() - 1);
    info.applies = edge.node->is_accumulator && accumulates;
  }
  for (const Node* node : reached) {
    uint64_t mask = 0;
    for (size_t i = 0; i < node->edges.size(); ++i) {
      const Edge& edge = node->edges[i];
      if (edge && find(*edge.node)) mask |= uint64_t{1} << (i & 63);
    }
    if (!mask) continue;
    Info& info = info_of(node);
    info.mask = mask;
    info.applies = true;
  }
}

}  // namespace flambeau::autograd
