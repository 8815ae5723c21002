#pragma once

#include <span>
#include <vector>

#include "autograd/graph/saved.h"
#include "core/types/scalar.h"

/// The nodes of declared operators: each says which members hold tensors, once, and turns gradients
/// of results into gradients of arguments. A complete one:
///
///     struct ExpBackward final : OperatorNode {
///       SavedTensor result_;
///       const char* own_name() const override { return "ExpBackward0"; }
///       FLAMBEAU_NODE_RECORD(1, {"result", &ExpBackward::result_})
///       void differentiate(const Gradients& gradients, Gradients& computed) override;
///     };
namespace flambeau::autograd {

/// A member of a node that holds tensors, and what it is called in the declaration.
class SavedField {
 public:
  template <class N>
  constexpr SavedField(const char* name, SavedTensor N::*member)
      : name_(name), tensor_(static_cast<SavedTensor Node::*>(member)) {}
  template <class N>
  constexpr SavedField(const char* name, SavedOperand N::*member)
      : name_(name), operand_(static_cast<SavedOperand Node::*>(member)) {}
  template <class N>
  constexpr SavedField(const char* name, std::vector<SavedTensor> N::*member)
      : name_(name), list_(static_cast<std::vector<SavedTensor> Node::*>(member)) {}

  const char* name() const { return name_; }
  bool is_list() const { return list_ != nullptr; }
  void reset(Node& node) const;
  void visit_held(const Node& node, HeldVisitor& visit) const;
  /// Undefined where nothing was saved. Not of a list.
  Tensor value(const Node& node) const;

 private:
  const char* name_;
  SavedTensor Node::*tensor_ = nullptr;
  SavedOperand Node::*operand_ = nullptr;
  std::vector<SavedTensor> Node::*list_ = nullptr;
};

/// What every node of an operator has in common.
struct NodeRecord {
  int results;  ///< that have gradients; kResultList: a list of tensors; with kMayLack or without
  std::span<const SavedField> saved = {};
};
inline constexpr int kResultList = -1;
/// Added where formulas ask whether a gradient came: those that did not are undefined.
inline constexpr int kMayLack = 1 << 16;

/// Of how many results a node is, and the fields in which it keeps tensors.
#define FLAMBEAU_NODE_RECORD(results, ...)                           \
  const NodeRecord& record() const override {                        \
    __VA_OPT__(static constexpr SavedField saved[] = {__VA_ARGS__};) \
    static constexpr NodeRecord record{results __VA_OPT__(, saved)}; \
    return record;                                                   \
  }

class FLAMBEAU_API OperatorNode : public Node {
 public:
  virtual const NodeRecord& record() const = 0;
  /// Puts the wanted gradients of the inputs into `computed`. A gradient that did not come is zeros
  /// where there are several results, unless they may lack; of one nothing is to be done then.
  virtual void differentiate(const Gradients& gradients, Gradients& computed) = 0;

  Gradients apply(Gradients&& gradients) final;
  void release_saved() override;
  void visit_held(HeldVisitor& visit) const override;
  std::vector<std::pair<const char*, Tensor>> saved_tensors() const override;

 protected:
  /// What was saved; undefined where nothing was, or where no gradient is wanted that reads it.
  Tensor unpack(const SavedTensor& saved, bool is_read = true) const;
  /// `holder` keeps the tensor alive that the operand is.
  Operand unpack(const SavedOperand& saved, Tensor& holder, bool is_read = true) const;
};

}  // namespace flambeau::autograd
