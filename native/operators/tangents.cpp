#include "operators/tangents.h"

#include "autograd/graph/forward_mode.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/view.h"

namespace flambeau::autograd {

Tensor tangent_or_zeros(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return has_tangent(tensor) ? tangent(tensor) : ops::zeros_like(tensor);
}

Tensor tangent_or_zeros(const Operand& operand) {
  return operand.is_tensor() ? tangent_or_zeros(operand.tensor()) : wrap_number(0);
}

std::vector<Tensor> tangents(TensorList tensors) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(tangent_or_zeros(tensor));
  return result;
}

void add_tangent(Tensor& total, Tensor&& part) {
  total = total.defined() ? ops::add(total, part) : std::move(part);
}

void add_tangent(std::vector<Tensor>& total, std::vector<Tensor>&& part) {
  if (total.empty()) {
    total = std::move(part);
    return;
  }
  for (size_t i = 0; i < total.size(); ++i) add_tangent(total[i], std::move(part[i]));
}

namespace {

template <class Total, class Argument, class Term>
void add_one(Total& total, const Argument& argument, const Term& term) {
  if (!has_tangent(argument)) return;
  const auto given = [&] {
    if constexpr (std::is_same_v<Argument, TensorList>) {
      return tangents(argument);
    } else {
      return tangent(argument);
    }
  }();
  const ForwardPause pause;
  add_tangent(total, term(given));
}

}  // namespace

void add_term(Tensor& total, const Tensor& argument, Term<Tensor, Tensor> term) {
  add_one(total, argument, term);
}
void add_term(Tensor& total, const Operand& argument, Term<Tensor, Tensor> term) {
  add_one(total, argument, term);
}
void add_term(Tensor& total, TensorList argument, Term<Tensor, Tensors> term) {
  add_one(total, argument, term);
}
void add_term(Tensors& total, const Tensor& argument, Term<Tensors, Tensor> term) {
  add_one(total, argument, term);
}
void add_term(Tensors& total, const Operand& argument, Term<Tensors, Tensor> term) {
  add_one(total, argument, term);
}
void add_term(Tensors& total, TensorList argument, Term<Tensors, Tensors> term) {
  add_one(total, argument, term);
}

namespace {

bool is_shared(const Tensor& tensor) {
  return tensor.impl()->use_count() > 1 || tensor.impl()->storage->use_count() > 1;
}

}  // namespace

Tensor owned(Tensor tangent) {
  return tangent.defined() && is_shared(tangent) ? ops::clone(tangent) : tangent;
}

void set_fitting_tangent(const Tensor& result, Tensor tangent) {
  if (!tangent.defined()) return;
  const bool fits = equal(tangent.strides(), result.strides()) &&
                    equal(tangent.sizes(), result.sizes()) && tangent.dtype() == result.dtype();
  if (fits && !is_shared(tangent)) return set_tangent(result, tangent);
  const Tensor fitting =
      empty_strided(result.sizes(), result.strides(), result.dtype(), result.device());
  set_tangent(result, ops::copy_(fitting, tangent));
}

void set_fitting_tangent(TensorList results, std::vector<Tensor> tangents) {
  for (size_t i = 0; i < tangents.size(); ++i) {
    set_fitting_tangent(results[i], std::move(tangents[i]));
  }
}

void set_view_tangent(const Tensor& view, const Tensor& tangent) { set_tangent(view, tangent); }

void set_view_tangent(TensorList views, const std::vector<Tensor>& tangents) {
  for (size_t i = 0; i < tangents.size(); ++i) set_tangent(views[i], tangents[i]);
}

}  // namespace flambeau::autograd
