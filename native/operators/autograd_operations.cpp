#include "autograd/engine/root.h"
#include "autograd/graph/grad_mode.h"
#include "autograd/graph/operations.h"
#include "core/tensor/sparse.h"
#include "operators/taken.h"
#include "ops/arithmetic.h"
#include "ops/comparison.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/reduction.h"
#include "ops/rounding.h"
#include "ops/sparse_parts.h"
#include "ops/view_grad.h"

/// The arithmetic on gradients that the engine asks for, in terms of declared operators.
namespace flambeau {
namespace {

using autograd::Operations;

Tensor add(const Tensor& a, const Tensor& b) {
  if (FLAMBEAU_LIKELY(!is_sparse(a) && !is_sparse(b))) return ops::add(a, b);
  if (is_sparse(a) && is_sparse(b)) return ops::sparse_joined(a, b);
  return is_sparse(a) ? ops::sparse_added(b, a) : ops::sparse_added(a, b);
}

void add_in_place(const Tensor& a, const Tensor& b) {
  const GradMode no_grad(false);
  if (FLAMBEAU_UNLIKELY(is_sparse(b))) {
    ops::sparse_add_(a, b);
  } else {
    ops::add_(a, b);
  }
}

void add_unasked(const Tensor& a, const Tensor& b) {
  const forms::Unasked unasked;
  add_in_place(a, b);
}

Tensor cast(const Tensor& tensor, DType dtype) {
  return is_sparse(tensor) ? ops::sparse_cast(tensor, dtype) : ops::to_dtype(tensor, dtype);
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
  const Tensor elements = is_sparse(tensor) ? sparse_parts(tensor, "backward").values : tensor;
  return item(ops::any(ops::isnan(elements))).to<bool>();
}

const bool installed = [] {
  autograd::install_operations({
      .add = &add,
      .add_in_place = &add_in_place,
      .add_unasked = &add_unasked,
      .sum_to = [](const Tensor& tensor, IntList sizes) { return ops::sum_to_size(tensor, sizes); },
      .cast = &cast,
      .to_dense = [](const Tensor& tensor) { return ops::sparse_dense(tensor); },
      .clone = [](const Tensor& tensor) { return ops::clone(tensor); },
      .pick = &pick,
      .choose = &choose,
      .has_nan = &has_nan,
  });
  // ones_like is made of operators without a tensor, which nobody takes over; NaN ** 0 is 1.
  autograd::ones_of_stand_in = [](const Tensor& root) { return ops::pow(root, 0); };
  return true;
}();

}  // namespace
}  // namespace flambeau
