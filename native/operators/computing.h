#pragma once

#include <initializer_list>

#include "autograd/graph/stand_in.h"
#include "core/backends/dispatch.h"
#include "core/iteration/iterator.h"
#include "core/iteration/reduction.h"
#include "core/tensor/overlap.h"
#include "operators/forms.h"
#include "operators/summed_gradients.h"

/// How a description computes: what all pointwise operators do around their kernels, all
/// reductions, and all that are written by hand.
namespace flambeau::forms {

/// Lays out a computation of one result.
template <class... Inputs>
FLAMBEAU_INLINE void start(Iterator& iter, const Destination& to, std::optional<DType> dtype,
                           PromotionRule rule, const Inputs&... inputs) {
  iter.add_output(to.tensor, dtype);
  (iter.add_input(inputs), ...);
  if (to.inplace) iter.set_shape(to.tensor.sizes());
  iter.build(rule);
}

/// Runs the kernel of a computation that is laid out.
template <class P>
FLAMBEAU_INLINE void run(const KernelTable<void(Iterator&, const P&)>& table, Iterator& iter,
                         const P& parameters) {
  if (iter.numel() != 0 && iter.backend() != Backend::meta) {
    table[iter.backend()](iter, parameters);
  }
  iter.finish();
}

namespace detail {
FLAMBEAU_API void gradients(const char* op, PromotionRule rule, std::span<const Operand> inputs,
                            FunctionRef<void(Iterator&)> kernel,
                            std::span<const WantedGradient> wanted);
FLAMBEAU_API Tensor gradient(const char* op, PromotionRule rule, std::span<const Operand> inputs,
                             FunctionRef<void(Iterator&)> kernel, const autograd::Edge& edge);
}  // namespace detail

/// Gradients by a kernel that computes them at once, in the order of its outputs; summed already
/// where an operand was broadcast and that is faster.
template <class P>
FLAMBEAU_INLINE void gradients(const KernelTable<void(Iterator&, const P&)>& table,
                               PromotionRule rule, std::initializer_list<Operand> inputs,
                               const P& parameters, std::initializer_list<WantedGradient> wanted) {
  const auto kernel = [&](Iterator& iter) { table[iter.backend()](iter, parameters); };
  detail::gradients(table.op, rule, {inputs.begin(), inputs.size()}, kernel,
                    {wanted.begin(), wanted.size()});
}
/// The same of one.
template <class P>
FLAMBEAU_INLINE Tensor gradient(const KernelTable<void(Iterator&, const P&)>& table,
                                PromotionRule rule, std::initializer_list<Operand> inputs,
                                const P& parameters, const autograd::Edge& edge) {
  const auto kernel = [&](Iterator& iter) { table[iter.backend()](iter, parameters); };
  return detail::gradient(table.op, rule, {inputs.begin(), inputs.size()}, kernel, edge);
}
/// Whether gradients are computed by kernels: not where they are differentiated themselves, or
/// are batches.
template <class... Functions>
bool by_kernels(const Tensor& grad, const KernelTable<Functions>&... tables) {
  return !autograd::is_tracking() && has_kernels(grad.device().backend, tables...) &&
         !autograd::may_stand_in(grad);
}

/// `input` has the dtype that the kernel reads. `dims`: those that are reduced, all without.
template <class P>
Tensor reduce(const KernelTable<void(const Reduction&, const P&)>& table, const char* op,
              const Destination& to, DType dtype, const Tensor& input, std::optional<IntList> dims,
              bool keepdim, const P& parameters) {
  Reduction reduction(op);
  reduction.add_output(dtype, to.tensor);
  reduction.build(input, dims, keepdim);
  if (reduction.output_numel() != 0 && reduction.backend() != Backend::meta) {
    table[reduction.backend()](reduction, parameters);
  }
  reduction.finish();
  return reduction.take_output(0);
}

/// A result whose last two dims are matrices, laid out by columns.
FLAMBEAU_API Tensor empty_by_columns(IntList sizes, DType dtype, Device device);
/// [batch, channels, ...], of so many dims at least, channels-last where one of `like` is, or all
/// of a list are but for those that are left out where tensors are joined; else row-major.
FLAMBEAU_API Tensor empty_in_format_of(std::initializer_list<const Tensor*> like, size_t least_rank,
                                       IntList sizes, DType dtype, Device device);
FLAMBEAU_API Tensor empty_in_format_of(TensorList like, size_t least_rank, IntList sizes,
                                       DType dtype, Device device);

namespace detail {
FLAMBEAU_API Tensor room(const Destination& to, IntList sizes, DType dtype, Device device,
                         bool overwrites, TrackedList reads);
FLAMBEAU_API const Tensor& placed(const Destination& to, const Tensor& result, const char* op);
}  // namespace detail

/// Where a kernel that is written by hand writes its only result: where that goes to, if a new
/// tensor would lie just so and nothing that the kernel `reads` lies there; else a new tensor.
template <class... Reads>
FLAMBEAU_INLINE Tensor room(const Destination& to, IntList sizes, DType dtype, Device device,
                            const Reads&... reads) {
  if (FLAMBEAU_LIKELY(!to.tensor.defined())) return empty(sizes, dtype, device);
  return detail::room(to, sizes, dtype, device, false, tracked(reads...));
}
/// The same of a kernel that may write its result over the first argument, which is written in
/// place.
template <class... Reads>
FLAMBEAU_INLINE Tensor room_over(const Destination& to, IntList sizes, DType dtype, Device device,
                                 const Reads&... reads) {
  if (FLAMBEAU_LIKELY(!to.tensor.defined())) return empty(sizes, dtype, device);
  return detail::room(to, sizes, dtype, device, to.inplace, tracked(reads...));
}
/// The result where it goes to: copied there, converted and with all checks, if it is elsewhere.
FLAMBEAU_INLINE Tensor placed(const Destination& to, Tensor&& result, const char* op) {
  return to.tensor.defined() ? detail::placed(to, result, op) : std::move(result);
}

/// What a kernel reads while it writes to another tensor: a copy, where both may lie in one memory.
class Apart {
 public:
  Apart(const Tensor& written, const Tensor& read) : read_(&read) {
    if (FLAMBEAU_UNLIKELY(read.storage() == written.storage())) set_apart(written);
  }
  operator const Tensor&() const { return *read_; }  // implicit on purpose

 private:
  FLAMBEAU_API void set_apart(const Tensor& written);

  const Tensor* read_;
  Tensor copy_;
};

/// Calls a kernel that is written by hand, unless there is no data.
template <class Function, class... Args>
FLAMBEAU_INLINE void run_on(Device device, const KernelTable<Function>& table, Args&&... args) {
  if (device.backend != Backend::meta) table[device.backend](std::forward<Args>(args)...);
}

}  // namespace flambeau::forms

namespace flambeau::ops {
using forms::Destination, forms::placed, forms::room, forms::room_over, forms::detail::compute;
}
