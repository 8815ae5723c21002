#pragma once

#include <vector>

#include "autograd/graph/node.h"

namespace flambeau::autograd {

/// What only one object keeps alive: the tensors and nodes behind a tensor (or a node) that nobody
/// else refers to, and the Python objects that these hold.
///
/// For Python's garbage collector, which must know every reference to an object that it takes for
/// garbage, and from whom it comes. C++ objects lie between the Python ones: a tensor leads to its
/// hooks, to the context of its Function, to a .grad with attributes. A reference that such an
/// object holds may be told by one tensor only, so a tensor tells those of the objects that are its
/// own, and no others. An object is if all references to it come from objects that are.
///
/// Nothing may change meanwhile: no thread may be inside the library without the GIL.
class FLAMBEAU_API Ownership {
 public:
  /// `references`: to the tensor or node, that the asking object itself has (a wrapper's one; none
  /// of a wrapper that the tensor owns).
  Ownership(const TensorImpl& root, uint32_t references);
  Ownership(const Node& root, uint32_t references);
  /// Whether the root is the asking object's own; if not, nothing is.
  bool holds() const { return holds_; }
  /// One entry for each reference to a Python object.
  const std::vector<void*>& objects() const { return objects_; }
  /// The tensors among them that own their wrappers.
  const std::vector<const TensorImpl*>& wrapped() const { return wrapped_; }

 private:
  struct Explorer;
  /// Explores from what `begin` enters.
  template <class Begin>
  void run(const Begin& begin);
  void forget();
  bool holds_ = false;
  std::vector<void*> objects_;
  std::vector<const TensorImpl*> wrapped_;
};

/// Shows a visitor every reference that a tensor or a node holds, the former's Python object (if it
/// owns that) among them.
FLAMBEAU_API void visit_references(const TensorImpl& tensor, HeldVisitor& visit);
FLAMBEAU_API void visit_references(const Node& node, HeldVisitor& visit);

/// Whether a tensor whose handle goes may still be kept alive by what it refers to itself.
FLAMBEAU_API bool may_own_itself(const TensorImpl& tensor);
/// Whether the tensor leads to a graph, or to the tensor that it is a view of.
FLAMBEAU_API bool leads_on(const TensorImpl& tensor);

}  // namespace flambeau::autograd
