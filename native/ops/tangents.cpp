#include "ops/tangents.h"

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

void set_fitting_tangent(const Tensor& result, const Tensor& tangent) {
  if (!tangent.defined()) return;
  const Tensor fitting =
      equal(tangent.sizes(), result.sizes()) ? tangent : ops::expand(tangent, result.sizes());
  set_tangent(result, ops::to_dtype(fitting, result.dtype()));
}

void set_tangents(TensorList results, const std::vector<Tensor>& tangents) {
  for (size_t i = 0; i < tangents.size(); ++i) set_fitting_tangent(results[i], tangents[i]);
}

}  // namespace flambeau::autograd
