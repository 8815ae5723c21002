#include "autograd/graph/ownership.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/graph/history.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/state.h"
#include "core/memory/reserve.h"

namespace flambeau::autograd {

/// Follows references from the root. An object is gone into when all references to it have been
/// seen, which in a graph without cycles happens to all that the root owns. Cycles go through the
/// root, or through its accumulator (a .grad that has a graph): these are gone into at once, and at
/// the end all references to them must have been seen.
struct Ownership::Explorer final : HeldVisitor {
  explicit Explorer(Ownership& result) : found(result) {}

  void tensor(const Tensor& held) override {
    if (held.defined()) meet(*held.impl(), {held.impl(), nullptr});
  }
  void node(const Node* held) override {
    if (held) meet(*held, {nullptr, held});
  }
  void object(void* held) override { found.objects_.push_back(held); }
  void shared(const void* owner, long references, std::span<void* const> held) override {
    if (references == 1 || static_cast<long>(++seen[owner]) == references) {
      found.objects_.insert(found.objects_.end(), held.begin(), held.end());
    }
  }

  struct Place {
    const TensorImpl* tensor;
    const Node* node;
  };
  /// Goes into an object of which so many references are known, and expects the others.
  void enter(const RefCounted& object, Place place, uint32_t references) {
    awaited.push_back(&object);
    seen[&object] = references;
    places.push_back(place);
  }
  void meet(const RefCounted& object, Place place) {
    const uint32_t references = object.use_count();
    const bool is_awaited = std::find(awaited.begin(), awaited.end(), &object) != awaited.end();
    const bool is_last = (references == 1 && !is_awaited) || ++seen[&object] == references;
    if (is_last && !is_awaited) places.push_back(place);
  }
  /// Whether all that was awaited has come.
  bool finish() {
    while (!places.empty()) {
      const Place place = places.back();
      places.pop_back();
      if (place.node) {
        visit_references(*place.node, *this);
      } else {
        if (place.tensor->owns_python_object) found.wrapped_.push_back(place.tensor);
        visit_references(*place.tensor, *this);
      }
    }
    return std::all_of(awaited.begin(), awaited.end(), [&](const RefCounted* object) {
      return seen.at(object) == object->use_count();
    });
  }

 private:
  Ownership& found;
  std::unordered_map<const void*, uint32_t> seen;
  std::vector<const RefCounted*> awaited;
  std::vector<Place> places;
};

void visit_references(const TensorImpl& tensor, HeldVisitor& visit) {
  if (tensor.owns_python_object) visit.object(tensor.python_object);
  const auto* own = static_cast<const State*>(tensor.autograd);
  if (!own) return;
  visit.node(own->grad_fn.get());
  visit.node(own->accumulator.get());
  visit.tensor(own->base);
  visit.tensor(own->tangent);
}

void visit_references(const Node& node, HeldVisitor& visit) {
  for (const Edge& edge : node.edges) visit.node(edge.node.get());
  node.visit_held(visit);
  if (node.has_extras()) node.extras_if_any()->visit_held(visit);
}

template <class Begin>
void Ownership::run(const Begin& begin) {
  Reserve::run([&] {
    forget();
    Explorer explorer(*this);
    begin(explorer);
    holds_ = explorer.finish();
  });
  if (!holds_) forget();
}

Ownership::Ownership(const TensorImpl& root, uint32_t references) {
  const auto* own = static_cast<const State*>(root.autograd);
  const AccumulateGrad* slot = own ? own->accumulator.get() : nullptr;
  const auto explore = [&](bool into_slot) {
    run([&](Explorer& explorer) {
      explorer.enter(root, {&root, nullptr}, references);
      if (into_slot) explorer.enter(*slot, {nullptr, slot}, 0);
    });
  };
  if (slot && slot->use_count() > 1 && has_autograd(slot->grad())) explore(true);
  if (!holds_) explore(false);
}

Ownership::Ownership(const Node& root, uint32_t references) {
  run([&](Explorer& explorer) { explorer.enter(root, {nullptr, &root}, references); });
}

void Ownership::forget() {
  objects_.clear();
  wrapped_.clear();
}

bool may_own_itself(const TensorImpl& tensor) {
  const auto* own = static_cast<const State*>(tensor.autograd);
  if (!own || !own->accumulator) return false;
  return own->accumulator->has_extras() || has_autograd(own->accumulator->grad());
}

bool leads_on(const TensorImpl& tensor) {
  const auto* own = static_cast<const State*>(tensor.autograd);
  return own && (own->grad_fn || own->base.defined());
}

void Node::Extras::visit_held(HeldVisitor& visit) const {
  const auto hooks = [&](const auto& list) {
    for (const auto& hook : list) {
      // Of a renewed accumulator, two lists have the same hooks.
      if (hook.object) visit.shared(hook.call.get(), hook.call.use_count(), {&hook.object, 1});
    }
  };
  hooks(tensor_hooks);
  hooks(pre_hooks);
  hooks(post_hooks);
  hooks(accumulated_hooks);
  void* const notes = metadata.get();
  if (notes) visit.shared(notes, metadata.use_count(), {&notes, 1});
  for (const OutputTangent& kept : tangents) visit.tensor(kept.tangent);
  for (const Retained& kept : retained) visit.node(kept.slot.get());
}

}  // namespace flambeau::autograd
