#include "core/tensor/promotion.h"

namespace flambeau {

namespace {
/// `strong` keeps its width; `weak` can only raise the category.
std::optional<DType> combine(std::optional<DType> strong, std::optional<DType> weak) {
  if (!strong) return weak;
  if (!weak || is_complex(*strong)) return strong;
  if (is_complex(*weak)) {
    return is_floating(*strong) ? complex_dtype(*strong) : promote(*strong, *weak);
  }
  if (is_floating(*strong)) return strong;
  if (is_floating(*weak)) return weak;
  return *strong == DType::bool_ ? weak : strong;
}

/// A number held at full precision counts as the default dtype of its kind.
DType weak_dtype(DType dtype) {
  if (is_floating(dtype)) return default_dtype();
  if (is_complex(dtype)) return complex_dtype(default_dtype());
  return dtype;
}
}  // namespace

void Promotion::add(const Tensor& tensor) {
  if (tensor.impl()->wrapped_number) {
    merge(numbers_, weak_dtype(tensor.dtype()));
  } else {
    merge(tensor.dim() == 0 ? zero_dim_ : dimensioned_, tensor.dtype());
  }
}

std::optional<DType> Promotion::result() const {
  return combine(dimensioned_, combine(zero_dim_, numbers_));
}

DType result_dtype(std::span<const Operand> operands) {
  Promotion promotion;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) {
      promotion.add(operand.tensor());
    } else {
      promotion.add(operand.scalar());
    }
  }
  const std::optional<DType> result = promotion.result();
  check(result.has_value(), ErrorKind::value, "result_dtype: expected at least one operand");
  return *result;
}

}  // namespace flambeau
