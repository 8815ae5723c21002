#pragma once

#include <span>
#include <vector>

#include "autograd/engine/frontier.h"

namespace flambeau::autograd {

/// Which part of a graph a backward for given inputs needs: the nodes on a path to one of them.
class Selection {
 public:
  struct Info {
    const Node* node;
    uint64_t mask = 0;                       ///< edges that lead to an input (bit i mod 64)
    uint32_t capture = NodeTable::kMissing;  ///< first capture at this node
    bool applies = false;
  };
  struct Capture {
    Edge edge;
    uint32_t next;  ///< further capture at the same node
    Tensor gradient;
  };

  /// `accumulates`: leaves among the inputs add to their .grad instead of being captured only.
  Selection(std::span<const Ref<Node>> roots, std::span<const Edge> inputs, bool accumulates);
  const Info* find(const Node& node) const {
    const uint32_t index = table_.find(&node);
    return index == NodeTable::kMissing ? nullptr : &infos_[index];
  }
  void capture(const Info& info, const Gradients& gradients) {
    for (uint32_t i = info.capture; i != NodeTable::kMissing; i = captures_[i].next) {
      if (captures_[i].edge.index < gradients.size()) {
        captures_[i].gradient = gradients[captures_[i].edge.index];
      }
    }
  }
  Tensor take(size_t input) { return std::move(captures_[input].gradient); }

 private:
  std::vector<Capture> captures_;
  std::vector<Info> infos_;
  NodeTable table_;
};

}  // namespace flambeau::autograd
