#pragma once

#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace flambeau::autograd {

class Node;

/// Gets every reference that a node holds, apart from its edges (autograd/graph/ownership.h).
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

}  // namespace flambeau::autograd
