#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autograd/graph/node.h"

namespace flambeau::autograd {

/// What a thread may put in the place of saved tensors (to compress, move or recompute them).
struct SavedTensorHooks {
  /// Gets a tensor without history; what it returns is kept.
  std::function<std::shared_ptr<void>(const Tensor&)> pack;
  /// Gives back a tensor of the same shape, dtype and values.
  std::function<Tensor(const std::shared_ptr<void>&)> unpack;
  void* objects[2] = {};  ///< the Python objects that the two hold
};
/// Of this thread; the last one pushed counts. Error(runtime) while they are disabled.
FLAMBEAU_API void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks);
FLAMBEAU_API void pop_saved_tensor_hooks();
/// Until enabled again, pushing hooks fails with `message`; an empty one enables. Returns the
/// previous one.
FLAMBEAU_API std::string disable_saved_tensor_hooks(std::string message);

/// A tensor kept for backward. Knows its version. One that autograd knows is kept as a detached
/// handle and the edge, so that neither results, nor later in-place operators, nor a .grad with a
/// graph make cycles, and so that Tensor.data = ... does not change what was recorded.
class FLAMBEAU_API SavedTensor {
 public:
  SavedTensor() = default;
  // Out of line: nodes have many of these, and are many.
  SavedTensor(SavedTensor&&) noexcept;
  SavedTensor& operator=(SavedTensor&&) noexcept;
  ~SavedTensor();
  /// `name`: as declared ("self"); `is_result`: output `output_index` of `node`'s own operator.
  /// A result is saved after its tangent is set.
  SavedTensor(const Tensor& tensor, const char* name, bool is_result = false,
              uint32_t output_index = 0);
  /// Error(runtime) naming operator, tensor, version found and expected when it was written to
  /// since, or when it was already freed.
  Tensor unpack(const Node& node) const { return unpack(node, grad_enabled()); }
  /// `with_history` false: the values are enough (the result may lack its grad_fn).
  Tensor unpack(const Node& node, bool with_history) const;
  /// For users: with history, and a leaf as itself unless it was given other data since.
  Tensor unpack_original(const Node& node) const;
  /// Whether it was given a tensor, freed since or not.
  bool defined() const { return tensor_.defined() || freed_ || packed_; }
  void reset();
  void visit_held(HeldVisitor& visit) const;
  const char* name() const { return name_; }

 private:
  void adopt_tangent(const Node& node) const;
  struct Packed;
  void pack(const Tensor& tensor);
  Tensor unpack_with_hooks(const Node& node) const;
  [[noreturn]] void fail_version(const Node& node) const;
  [[noreturn]] void fail_freed(const Node& node) const;

  Tensor with_edge(const Tensor& tensor, const Node& node) const;

  Tensor tensor_;
  const char* name_ = "";
  Ref<Node> grad_fn_;                     // of a saved tensor that is no result; or accumulator
  std::shared_ptr<const Packed> packed_;  // instead of tensor_, when there were hooks
  uint32_t version_ = 0, output_index_ = 0;
  bool is_result_ = false, freed_ = false;
};

/// Keeps what an operator is about to overwrite: a copy, linked to the history that the tensor has
/// now.
FLAMBEAU_API SavedTensor save_overwritten(const Tensor& tensor, const char* name);

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
  bool defined() const { return saved_.defined(); }
  Tensor unpack(const Node& node, bool with_history) const {
    return saved_.unpack(node, with_history);
  }
  /// As of SavedTensor; undefined of a number.
  Tensor unpack_original(const Node& node) const { return saved_.unpack_original(node); }
  void reset() { saved_.reset(); }
  void visit_held(HeldVisitor& visit) const { saved_.visit_held(visit); }

 private:
  SavedTensor saved_;
  Scalar scalar_;
  bool is_tensor_ = false;
};

}  // namespace flambeau::autograd
