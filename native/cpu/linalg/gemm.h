#pragma once

#include <optional>
#include <type_traits>

#include "core/tensor/tensor.h"
#include "cpu/linalg/gemm_kernel.h"

namespace flambeau::cpu {

/// The type of alpha and beta: halves compute in float32.
template <class T>
using GemmFactor =
    std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

/// A product of matrices of one dtype.
template <class T>
using Product = GemmCall<T, T, GemmFactor<T>>;

/// Several threads when large, one inside a parallel region. T is any dtype's C++ type but bool.
template <class T>
void gemm(const Product<T>& call);

/// The last two dimensions of a tensor as a matrix, from element `offset` on.
template <class T>
MatrixView<T> matrix_of(const Tensor& tensor, int64_t offset = 0) {
  const size_t rank = tensor.strides().size();
  return {tensor.data<T>() + offset, tensor.strides()[rank - 2], tensor.strides()[rank - 1]};
}

/// The distance between rows when all dims but the last are one dim in memory (a stack of matrices
/// is then one tall matrix), else none.
inline std::optional<int64_t> merged_row_step(const Tensor& tensor) {
  int64_t step = 0, covered = 0;
  bool first = true;
  for (size_t d = tensor.sizes().size() - 1; d-- > 0;) {
    const int64_t size = tensor.sizes()[d], stride = tensor.strides()[d];
    if (size == 1) continue;
    if (!first && stride != covered) return std::nullopt;
    if (first) step = stride;
    first = false;
    covered = stride * size;
  }
  return step;
}

/// Calls body(T()) with the C++ type of a numeric dtype.
template <class Body>
decltype(auto) visit_numeric(DType dtype, const char* op, Body&& body) {
  switch (dtype) {
    case DType::float32:
      return body(float());
    case DType::float64:
      return body(double());
    case DType::float16:
      return body(float16());
    case DType::bfloat16:
      return body(bfloat16());
    case DType::uint8:
      return body(uint8_t());
    case DType::int8:
      return body(int8_t());
    case DType::int16:
      return body(int16_t());
    case DType::int32:
      return body(int32_t());
    case DType::int64:
      return body(int64_t());
    case DType::complex64:
      return body(complex<float>());
    case DType::complex128:
      return body(complex<double>());
    default:
      fail(ErrorKind::runtime, op, ": not defined for ", name(dtype));
  }
}

}  // namespace flambeau::cpu
