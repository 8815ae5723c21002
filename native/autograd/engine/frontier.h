#pragma once

#include <algorithm>
#include <vector>

#include "autograd/graph/node.h"

namespace flambeau::autograd {

/// Node -> number, open addressing with linear probing.
class NodeTable {
 public:
  static constexpr uint32_t kMissing = ~0u;
  uint32_t find(const Node* node) const {
    if (slots_.empty()) return kMissing;
    for (size_t i = start(node);; i = next(i)) {
      if (slots_[i].node == node) return slots_[i].value;
      if (!slots_[i].node) return kMissing;
    }
  }
  /// The node must be new.
  void insert(const Node* node, uint32_t value) {
    if (++count_ * 2 > slots_.size()) grow();
    place({node, value});
  }
  void erase(const Node* node) {
    size_t hole = start(node);
    while (slots_[hole].node != node) hole = next(hole);
    // Later entries of the run move back into the hole unless that is before where they start.
    for (size_t i = next(hole); slots_[i].node; i = next(i)) {
      const size_t home = start(slots_[i].node);
      const bool stays = hole <= i ? (hole < home && home <= i) : (hole < home || home <= i);
      if (stays) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
    --count_;
  }
  void clear() {
    slots_.clear();
    count_ = 0;
  }

 private:
  struct Slot {
    const Node* node = nullptr;
    uint32_t value = 0;
  };
  size_t start(const Node* node) const {
    const auto key = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(node));
    return static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & (slots_.size() - 1);
  }
  size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void place(Slot slot) {
    size_t i = start(slot.node);
    while (slots_[i].node) i = next(i);
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<size_t>(64, old.size() * 2), {});
    for (const Slot& slot : old) {
      if (slot.node) place(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

/// The nodes that gradients have reached and that have not run, with those gradients. pop() gives
/// the one with the highest sequence number: every node that could still add to its gradients has
/// a higher one, so they are complete. Few nodes: a list that is searched; many: a heap and a
/// table.
class Frontier {
 public:
  struct Entry {
    Node* node;
    uint64_t sequence;
    Gradients gradients;
    Entry(Node* which, uint64_t order)
        : node(which),
          sequence(order),
          gradients(std::max<size_t>(which->output_count, which->outputs.size())) {}
  };
  bool empty() const { return few_.empty() && heap_.empty(); }

  /// The gradients collected for `node` so far.
  Gradients& at(Node& node) {
    if (FLAMBEAU_UNLIKELY(!heap_.empty())) return at_many(node);
    for (Entry& entry : few_) {
      if (entry.node == &node) return entry.gradients;
    }
    if (FLAMBEAU_UNLIKELY(few_.size() == kFew)) {
      for (Entry& entry : few_) add_many(std::move(entry));
      few_.clear();
      return at_many(node);
    }
    return few_.emplace_back(&node, node.sequence.load(std::memory_order_relaxed)).gradients;
  }

  Entry pop() {
    if (FLAMBEAU_UNLIKELY(!heap_.empty())) return pop_many();
    size_t best = 0;
    for (size_t i = 1; i < few_.size(); ++i) {
      if (few_[i].sequence > few_[best].sequence) best = i;
    }
    Entry entry = std::move(few_[best]);
    if (best + 1 < few_.size()) few_[best] = std::move(few_.back());
    few_.pop_back();
    return entry;
  }

 private:
  static constexpr size_t kFew = 12;
  struct Place {
    uint64_t sequence;
    uint32_t slot;
    bool operator<(const Place& other) const { return sequence < other.sequence; }
  };

  Gradients& at_many(Node& node) {
    const uint32_t slot = table_.find(&node);
    if (slot != NodeTable::kMissing) return many_[slot].gradients;
    return add_many(Entry(&node, node.sequence.load(std::memory_order_relaxed)));
  }
  Gradients& add_many(Entry entry) {
    uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<uint32_t>(many_.size());
      many_.push_back(std::move(entry));
    } else {
      slot = free_.back();
      free_.pop_back();
      many_[slot] = std::move(entry);
    }
    table_.insert(many_[slot].node, slot);
    heap_.push_back({many_[slot].sequence, slot});
    std::push_heap(heap_.begin(), heap_.end());
    return many_[slot].gradients;
  }
  Entry pop_many() {
    std::pop_heap(heap_.begin(), heap_.end());
    const uint32_t slot = heap_.back().slot;
    heap_.pop_back();
    table_.erase(many_[slot].node);
    free_.push_back(slot);
    return std::move(many_[slot]);
  }

  SmallVector<Entry, kFew> few_;
  std::vector<Entry> many_;
  std::vector<uint32_t> free_;
  std::vector<Place> heap_;
  NodeTable table_;
};

}  // namespace flambeau::autograd
