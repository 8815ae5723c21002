#include "kernels/creation_any.h"

namespace flambeau::any {

void empty(const Tensor&, IntList, std::optional<DType>, std::optional<Device>) {}
void empty_strided(const Tensor&, IntList, IntList, std::optional<DType>, std::optional<Device>) {}

void full(const Tensor& result, IntList, const Scalar& fill_value, std::optional<DType>,
          std::optional<Device>) {
  fill_value.check_fits(result.dtype(), "full", "fill_value");
  fill_data(result, fill_value);
}

void zeros(const Tensor& result, IntList, std::optional<DType>, std::optional<Device>) {
  fill_data(result, 0);
}

void ones(const Tensor& result, IntList, std::optional<DType>, std::optional<Device>) {
  fill_data(result, 1);
}

/// One element, wherever it lies, is copied into all: the host need not wait for it.
void fill_(const Tensor& self, const Operand& value) {
  if (value.is_tensor()) return copy_data(self, value.tensor());
  value.scalar().check_fits(self.dtype(), "fill_", "value");
  fill_data(self, value.scalar());
}

void zero_(const Tensor& self) { fill_data(self, 0); }

}  // namespace flambeau::any
