#pragma once

#include "autograd/node.h"

namespace flambeau::autograd {

/// A tensor kept for backward. Knows its version. A tensor with a grad_fn is kept as a detached
/// handle and the edge, so that neither results nor later in-place operators make cycles.
class FLAMBEAU_API SavedTensor {
 public:
  SavedTensor() = default;
  /// `name`: as declared ("self"); `is_result`: output `output_index` of `node`'s own operator.
  /// A result is saved after its tangent is set.
  SavedTensor(const Tensor& tensor, const char* name, bool is_result = false,
              uint32_t output_index = 0);
  /// Error(runtime) naming operator, tensor, version found and expected when it was written to
  /// since, or when it was already freed.
  Tensor unpack(const Node& node) const;
  bool defined() const { return tensor_.defined(); }
  void reset();
  const char* name() const { return name_; }

 private:
  [[noreturn]] void fail_version(const Node& node) const;
  [[noreturn]] void fail_freed(const Node& node) const;

  Tensor tensor_;
  const char* name_ = "";
  Ref<Node> grad_fn_;  // of a saved tensor that is neither a leaf nor a result
  uint32_t version_ = 0, output_index_ = 0;
  bool is_result_ = false, freed_ = false;
};

/// An Operand kept for backward.
class SavedOperand {
 public:
  SavedOperand() = default;
  SavedOperand(const Operand& operand, const char* name) : is_tensor_(operand.is_tensor()) {
    if (is_tensor_) {
      saved_ = SavedTensor(operand.tensor(), name);
    } else {
      scalar_ = operand.scalar();
    }
  }
  /// Fills `holder` so that the returned Operand stays valid.
  Operand unpack(const Node& node, Tensor& holder) const {
    if (!is_tensor_) return Operand(scalar_);
    holder = saved_.unpack(node);
    return Operand(holder);
  }
  bool is_tensor() const { return is_tensor_; }
  void reset() { saved_.reset(); }

 private:
  SavedTensor saved_;
  Scalar scalar_;
  bool is_tensor_ = false;
};

/// A list argument kept for backward.
class FLAMBEAU_API SavedTensorList {
 public:
  SavedTensorList() = default;
  SavedTensorList(TensorList tensors, const char* name) {
    saved_.reserve(tensors.size());
    for (const Tensor& tensor : tensors) saved_.emplace_back(tensor, name);
  }
  std::vector<Tensor> unpack(const Node& node) const {
    std::vector<Tensor> tensors;
    tensors.reserve(saved_.size());
    for (const SavedTensor& saved : saved_) tensors.push_back(saved.unpack(node));
    return tensors;
  }
  size_t size() const { return saved_.size(); }
  void reset() {
    for (SavedTensor& saved : saved_) saved.reset();
  }

 private:
  std::vector<SavedTensor> saved_;
};

}  // namespace flambeau::autograd
