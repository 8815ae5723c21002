#include "operators/tracked.h"

#include <algorithm>

namespace flambeau::forms {

bool Tracked::requires_grad() const {
  if (list_) return autograd::requires_grad(*list_);
  return tensor_ && autograd::requires_grad(*tensor_);
}

bool Tracked::has_tangent() const {
  if (list_) return autograd::has_tangent(*list_);
  return tensor_ && autograd::has_tangent(*tensor_);
}

void Tracked::add_to(autograd::Node& node) const {
  if (list_) {
    node.add_input(*list_);
  } else if (tensor_) {
    node.add_input(*tensor_);
  } else {
    node.add_input(Tensor());
  }
}

bool any_requires_grad(TrackedList tracked) {
  return std::ranges::any_of(tracked, &Tracked::requires_grad);
}

bool any_has_tangent_now(TrackedList tracked) {
  return std::ranges::any_of(tracked, &Tracked::has_tangent);
}

bool is_differentiated(const Tensor& tensor) {
  return (grad_enabled() && autograd::requires_grad(tensor)) || autograd::has_tangent(tensor);
}

void refuse_tangents(TrackedList tracked, const char* op) {
  check(!any_has_tangent(tracked), ErrorKind::not_implemented, op,
        "(): forward mode is not implemented");
}

void refuse_gradient(const char* op, const char* argument) {
  fail(ErrorKind::not_implemented, op, "(): the derivative for argument ", argument,
       " is not implemented");
}

void add_inputs(autograd::Node& node, TrackedList tracked) {
  for (const Tracked& argument : tracked) argument.add_to(node);
}

}  // namespace flambeau::forms
