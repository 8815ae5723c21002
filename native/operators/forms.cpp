#include "operators/forms.h"

#include "ops/creation.h"
#include "ops/view.h"

namespace flambeau::forms {

const Tensor& overwrite(const Tensor& self, const char* op, TrackedList tracked,
                        FunctionRef<Tensor(const Tensor&)> compute) {
  const bool records = is_recorded(tracked);
  autograd::check_inplace(self, op, records);
  if (records) autograd::begin_at_base(self);
  // The copy that it computes from, and the one that writes: tangents see both.
  const Tensor before = records ? ops::clone(self) : self;
  const Tensor after = compute(before);
  autograd::check_fits(self, after, op);
  return ops::copy_(self, after);
}

const Tensor& write_out(const Tensor& out, const char* op, TrackedList tracked,
                        FunctionRef<Tensor()> compute) {
  autograd::check_out(out, any_requires_grad(tracked), any_has_tangent(tracked), op);
  const GradMode no_grad(false);
  autograd::write_out({{out, compute()}}, op);
  return out;
}

void bump_versions(TrackedList written) {
  for (const Tracked& argument : written) {
    if (argument.tensor().defined()) argument.tensor().bump_version();
  }
}

}  // namespace flambeau::forms
