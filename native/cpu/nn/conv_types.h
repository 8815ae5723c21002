#pragma once

#include "core/tensor/tensor.h"

namespace flambeau::cpu {

/// Runs body(T(), result, inputs as dense tensors of T...): T is float or double; half types go
/// through float32 and are rounded once.
template <class Body, class... Inputs>
void with_float_compute(const char* op, const Tensor& result, Body&& body,
                        const Inputs&... inputs) {
  [[maybe_unused]] const auto dense = [](const Tensor& tensor, DType dtype) {
    return tensor.defined() ? contiguous_data(cast_data(tensor, dtype)) : tensor;
  };
  switch (result.dtype()) {
    case DType::float32:
      return body(float(), result, dense(inputs, DType::float32)...);
    case DType::float64:
      return body(double(), result, dense(inputs, DType::float64)...);
    case DType::float16:
    case DType::bfloat16: {
      const Tensor wide = empty(result.sizes(), DType::float32);
      body(float(), wide, dense(inputs, DType::float32)...);
      return copy_data(result, wide);
    }
    default:
      fail(ErrorKind::runtime, op, ": not defined for ", name(result.dtype()));
  }
}

}  // namespace flambeau::cpu
