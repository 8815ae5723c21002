#include "operators/node.h"

#include "autograd/recording/operator.h"

namespace flambeau::autograd {

void SavedField::reset(Node& node) const {
  if (tensor_) {
    (node.*tensor_).reset();
  } else if (operand_) {
    (node.*operand_).reset();
  } else {
    (node.*list_).clear();
  }
}

void SavedField::visit_held(const Node& node, HeldVisitor& visit) const {
  if (tensor_) {
    visit.all(node.*tensor_);
  } else if (operand_) {
    visit.all(node.*operand_);
  } else {
    visit.all(node.*list_);
  }
}

Tensor SavedField::value(const Node& node) const {
  const auto read = [&](const auto& saved) {
    return saved.defined() ? saved.unpack_original(node) : Tensor();
  };
  return tensor_ ? read(node.*tensor_) : read(node.*operand_);
}

Gradients OperatorNode::apply(Gradients&& gradients) {
  Gradients computed(edges.size());
  const int results = record().results;
  if (results == 1) {
    if (gradients[0].defined()) differentiate(gradients, computed);
    return computed;
  }
  if (results == kResultList || results < kMayLack) {
    const size_t count = results == kResultList ? gradients.size() : static_cast<size_t>(results);
    for (size_t i = 0; i < count; ++i) gradients[i] = gradient_or_zeros(gradients, i, *this);
  }
  differentiate(gradients, computed);
  return computed;
}

Tensor OperatorNode::unpack(const SavedTensor& saved, bool is_read) const {
  return is_read && saved.defined() ? saved.unpack(*this) : Tensor();
}

Operand OperatorNode::unpack(const SavedOperand& saved, Tensor& holder, bool is_read) const {
  return is_read ? saved.unpack(*this, holder) : Operand(holder);
}

void OperatorNode::release_saved() {
  for (const SavedField& field : record().saved) field.reset(*this);
}

void OperatorNode::visit_held(HeldVisitor& visit) const {
  for (const SavedField& field : record().saved) field.visit_held(*this, visit);
}

std::vector<std::pair<const char*, Tensor>> OperatorNode::saved_tensors() const {
  std::vector<std::pair<const char*, Tensor>> tensors;
  for (const SavedField& field : record().saved) {
    if (!field.is_list()) tensors.emplace_back(field.name(), field.value(*this));
  }
  return tensors;
}

}  // namespace flambeau::autograd
