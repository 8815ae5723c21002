#include "autograd/graph/grad_mode.h"
#include "autograd/graph/operations.h"
#include "ops/arithmetic.h"
#include "ops/comparison.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/reduction.h"
#include "ops/rounding.h"
#include "ops/view_grad.h"

/// The arithmetic on gradients that the engine asks for, in terms of declared operators.
namespace flambeau {
namespace {

using autograd::Operations;

void add_in_place(const Tensor& a, const Tensor& b) {
  const GradMode no_grad(false);
  ops::add_(a, b);
}

Tensor pick(const Tensor& values, const Tensor& places) {
  const Tensor is_found = ops::ge(places, 0);
  return ops::where(is_found, ops::take(values, ops::where(is_found, places, 0)), 0);
}

Tensor choose(const Tensor& places, const Tensor& values, const Tensor& otherwise) {
  return ops::where(ops::ge(places, 0), values, otherwise);
}

bool has_nan(const Tensor& tensor) {
  const GradMode no_grad(false);
  return item(ops::any(ops::isnan(tensor))).to<bool>();
}

const bool installed = [] {
  autograd::install_operations({
      .add = [](const Tensor& a, const Tensor& b) { return ops::add(a, b); },
      .add_in_place = &add_in_place,
      .sum_to = [](const Tensor& tensor, IntList sizes) { return ops::sum_to_size(tensor, sizes); },
      .cast = [](const Tensor& tensor, DType dtype) { return ops::to_dtype(tensor, dtype); },
      .clone = [](const Tensor& tensor) { return ops::clone(tensor); },
      .pick = &pick,
      .choose = &choose,
      .has_nan = &has_nan,
  });
  return true;
}();

}  // namespace
}  // namespace flambeau
