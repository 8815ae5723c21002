#include "kernels/creation.h"

namespace flambeau::cpu {

void empty(const Tensor&, IntList, std::optional<DType>, std::optional<Device>) {}

void full(const Tensor& result, IntList, const Scalar& fill_value, std::optional<DType>,
          std::optional<Device>) {
  fill_data(result, fill_value);
}

void zeros(const Tensor& result, IntList, std::optional<DType>, std::optional<Device>) {
  fill_data(result, 0);
}

void ones(const Tensor& result, IntList, std::optional<DType>, std::optional<Device>) {
  fill_data(result, 1);
}

void fill_(const Tensor& self, const Operand& value) {
  fill_data(self, value.is_tensor() ? item(value.tensor()) : value.scalar());
}

void zero_(const Tensor& self) { fill_data(self, 0); }

}  // namespace flambeau::cpu
