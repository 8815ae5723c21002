#pragma once

#include "autograd/graph/forward_mode.h"
#include "autograd/graph/history.h"
#include "autograd/graph/saved.h"
#include "core/backends/dispatch.h"
#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"

/// What generated operator functions share: argument checks and the writing of results.
namespace flambeau::autograd {

/// Errors of the checks below, out of line.
[[noreturn]] FLAMBEAU_API void fail_undefined(const char* op, const char* argument);
[[noreturn]] FLAMBEAU_API void fail_dtype(const char* op, const char* argument, DType seen,
                                          uint32_t accepted);
[[noreturn]] FLAMBEAU_API void fail_same_dtype(const char* op, const char* argument, DType seen,
                                               const char* other, DType expected);
[[noreturn]] FLAMBEAU_API void fail_device(const char* op, const char* argument, Device seen,
                                           Device expected);

inline void check_tensor(const Tensor& tensor, uint32_t accepted, const char* op,
                         const char* argument) {
  if (FLAMBEAU_UNLIKELY(!tensor.defined())) fail_undefined(op, argument);
  if (FLAMBEAU_UNLIKELY(!(dtype_bit(tensor.dtype()) & accepted))) {
    fail_dtype(op, argument, tensor.dtype(), accepted);
  }
}
inline void check_tensor(const Operand& operand, uint32_t accepted, const char* op,
                         const char* argument) {
  if (operand.is_tensor()) check_tensor(operand.tensor(), accepted, op, argument);
}
FLAMBEAU_API void check_tensors(TensorList tensors, uint32_t accepted, const char* op,
                                const char* argument);

inline void check_same_dtype(const Tensor& tensor, const Tensor& other, const char* op,
                             const char* argument, const char* other_argument) {
  if (tensor.defined() && other.defined() && FLAMBEAU_UNLIKELY(tensor.dtype() != other.dtype())) {
    fail_same_dtype(op, argument, tensor.dtype(), other_argument, other.dtype());
  }
}
[[noreturn]] FLAMBEAU_API void fail_rank(const char* op, const char* what, IntList seen,
                                         int64_t expected);
/// `what` ("self.shape") must have `expected` entries.
inline void check_rank(IntList shape, int64_t expected, const char* op, const char* what) {
  if (FLAMBEAU_UNLIKELY(static_cast<int64_t>(shape.size()) != expected)) {
    fail_rank(op, what, shape, expected);
  }
}
/// A 0-d CPU tensor may stand beside tensors of any device only where the iterator handles it: not
/// here.
inline void check_same_device(const Tensor& tensor, Device expected, const char* op,
                              const char* argument) {
  if (tensor.defined() && FLAMBEAU_UNLIKELY(tensor.device() != expected)) {
    fail_device(op, argument, tensor.device(), expected);
  }
}
inline void check_same_device(TensorList tensors, Device expected, const char* op,
                              const char* argument) {
  for (const Tensor& tensor : tensors) check_same_device(tensor, expected, op, argument);
}

/// The device of the first tensor of a list; Error(runtime) when the list is empty or they differ.
FLAMBEAU_API Device device_of(TensorList tensors, const char* op, const char* argument);
/// The dtype that the tensors of a list promote to.
FLAMBEAU_API DType common_dtype_of(TensorList tensors, const char* op);
/// The common dtype of operands, as an iterator would find it.
FLAMBEAU_API DType common_dtype(std::initializer_list<Operand> operands, bool integers_to_float);
/// Lists that are walked in step have one length.
FLAMBEAU_API void check_list_lengths(const char* op, size_t expected,
                                     std::initializer_list<size_t> lengths);

/// What a message prints of a value.
template <class T>
const T& printable(const T& value) {
  return value;
}
inline ShapeText printable(IntList value) { return {value}; }
inline ShapeText printable(const Shape& value) { return {value}; }
inline ShapeText printable(const Dims& value) { return {value}; }
template <int count>
ShapeText printable(const Ints<count>& value) {
  return {value};
}
inline int64_t printable(Dim value) { return value; }
inline std::string printable(const Operand& value) {
  if (!value.is_tensor()) return concatenate(value.scalar());
  return concatenate("a tensor of shape ", ShapeText{value.sizes()});
}
/// Text that is long is cut.
FLAMBEAU_API std::string printable(std::string_view value);
inline const char* printable(bool value) { return value ? "True" : "False"; }
template <class T>
std::string printable(const std::optional<T>& value) {
  return value ? concatenate(printable(*value)) : "None";
}

/// A tensor that the caller gave with out=, and the result that it receives. `keeps_dtype`: the
/// result is written as it is, indices among them; others are converted where they can be.
struct Output {
  const Tensor& out;
  const Tensor& result;
  bool keeps_dtype = false;
};
/// Writes computed results into the tensors given with out=, which are resized where they are
/// empty. Error(runtime) naming `op`, before anything is written, where a shape, dtype or device
/// does not fit, or where elements share memory.
FLAMBEAU_API void write_out(std::initializer_list<Output> outputs, const char* op);
/// The same, without counting their versions up.
FLAMBEAU_API void place_out(std::initializer_list<Output> outputs, const char* op);
/// The same for what is made from nothing, in the dtype of `out`, on its device: Error(runtime)
/// where the caller asks for others.
FLAMBEAU_API void check_made_for(const Tensor& out, std::optional<DType> dtype,
                                 std::optional<Device> device, const char* op);
/// Whether a result can be written over `self`: Error(runtime) naming `op` unless the shapes agree
/// and the dtype can be cast.
FLAMBEAU_API void check_fits(const Tensor& self, const Tensor& result, const char* op);
/// Writes a computed result over `self`, which it must fit, and counts its version up.
FLAMBEAU_API void write_inplace(const Tensor& self, const Tensor& result, const char* op);
/// out= neither records nor carries tangents: Error(runtime) when an argument or `out` requires
/// grad while grad mode is on, or has a tangent.
FLAMBEAU_API void check_out(const Tensor& out, bool any_requires_grad, bool any_tangent,
                            const char* op);

/// A copy that later in-place writes do not reach; keeps the layout's order, no autograd.
FLAMBEAU_API Tensor clone_data(const Tensor& tensor);

/// The gradient of output `index`, or zeros of its shape when nothing flowed there.
FLAMBEAU_API Tensor gradient_or_zeros(const Gradients& gradients, size_t index, const Node& node);

/// Zeros of the tensor's shape, dtype and device; no autograd.
FLAMBEAU_API Tensor zeros_of(const Tensor& tensor);
/// The gradient of an input that the result does not depend on: zeros of its shape where that is
/// known, which need no sum over what it was broadcast along.
FLAMBEAU_API Tensor flat_gradient(const Node& node, size_t input, const Tensor& grad);

}  // namespace flambeau::autograd
