#pragma once

#include <optional>

#include "core/tensor/tensor.h"
#include "core/types/dtype.h"

namespace flambeau {

/// Collects operands and says in which dtype they meet. Tensors with dims count first, then 0-d
/// tensors, then numbers: a later group only matters when its category is higher.
class FLAMBEAU_API Promotion {
 public:
  void add(const Tensor& tensor);
  void add(const Scalar& number) { merge(numbers_, number.dtype()); }
  /// None before anything was added.
  std::optional<DType> result() const;

 private:
  static void merge(std::optional<DType>& group, DType dtype) {
    group = group ? promote(*group, dtype) : dtype;
  }
  std::optional<DType> dimensioned_, zero_dim_, numbers_;
};

/// The dtype that PyTorch's rules give for these operands (dimensioned tensors, then 0-d tensors,
/// then numbers).
FLAMBEAU_API DType result_dtype(std::span<const Operand> operands);

}  // namespace flambeau
