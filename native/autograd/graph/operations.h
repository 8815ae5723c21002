#pragma once

#include "core/tensor/tensor.h"

namespace flambeau::autograd {

/// The tensor arithmetic that the engine needs. Autograd does not depend on operators: the operator
/// library fills this in when it is loaded. Unless said otherwise the functions record history when
/// grad mode is on.
struct Operations {
  /// Of any layouts: sparse tensors give a sparse one, others a strided one.
  Tensor (*add)(const Tensor& a, const Tensor& b) = nullptr;
  /// a += b, same shape, dtype and device; no history. `a` is strided.
  void (*add_in_place)(const Tensor& a, const Tensor& b) = nullptr;
  /// The same, and nobody is asked to take it over (operators/taken.h).
  void (*add_unasked)(const Tensor& a, const Tensor& b) = nullptr;
  /// Sums the dimensions that broadcasting `sizes` would have added or repeated.
  Tensor (*sum_to)(const Tensor& tensor, IntList sizes) = nullptr;
  Tensor (*cast)(const Tensor& tensor, DType dtype) = nullptr;
  /// The strided tensor of the elements of a sparse one.
  Tensor (*to_dense)(const Tensor& tensor) = nullptr;
  Tensor (*clone)(const Tensor& tensor) = nullptr;
  /// Elements by their places in row-major order, of the shape of `places`; 0 where that is -1.
  Tensor (*pick)(const Tensor& values, const Tensor& places) = nullptr;
  /// `values` where a place is not -1, elsewhere `otherwise`.
  Tensor (*choose)(const Tensor& places, const Tensor& values, const Tensor& otherwise) = nullptr;
  /// Whether any element is NaN (anomaly mode); no history.
  bool (*has_nan)(const Tensor& tensor) = nullptr;
};

/// Called once, before the first backward.
FLAMBEAU_API void install_operations(const Operations& operations);
/// Error(runtime) when nothing was installed.
FLAMBEAU_API const Operations& operations();

}  // namespace flambeau::autograd
