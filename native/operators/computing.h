#pragma once

#include <initializer_list>

#include "autograd/graph/stand_in.h"
#include "core/backends/dispatch.h"
#include "core/iteration/iterator.h"
#include "core/iteration/reduction.h"
#include "operators/forms.h"

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
FLAMBEAU_API void gradients(const char* op, PromotionRule rule,
                            std::initializer_list<Operand> inputs,
                            FunctionRef<void(Iterator&)> kernel,
                            std::initializer_list<Tensor*> computed);
FLAMBEAU_API Tensor gradient(const char* op, PromotionRule rule,
                             std::initializer_list<Operand> inputs,
                             FunctionRef<void(Iterator&)> kernel);
}  // namespace detail

/// Gradients by a kernel that computes them at once, in the order of its outputs.
template <class P>
FLAMBEAU_INLINE void gradients(const KernelTable<void(Iterator&, const P&)>& table,
                               PromotionRule rule, std::initializer_list<Operand> inputs,
                               const P& parameters, std::initializer_list<Tensor*> computed) {
  const auto kernel = [&](Iterator& iter) { table[iter.backend()](iter, parameters); };
  detail::gradients(table.op, rule, inputs, kernel, computed);
}
/// The same of one.
template <class P>
FLAMBEAU_INLINE Tensor gradient(const KernelTable<void(Iterator&, const P&)>& table,
                                PromotionRule rule, std::initializer_list<Operand> inputs,
                                const P& parameters) {
  const auto kernel = [&](Iterator& iter) { table[iter.backend()](iter, parameters); };
  return detail::gradient(table.op, rule, inputs, kernel);
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
/// [batch, channels, ...], of so many dims at least, channels-last where one of `like` is, else
/// row-major.
FLAMBEAU_API Tensor empty_in_format_of(std::initializer_list<const Tensor*> like, size_t least_rank,
                                       IntList sizes, DType dtype, Device device);

/// Calls a kernel that is written by hand, unless there is no data.
template <class Function, class... Args>
FLAMBEAU_INLINE void run_on(Device device, const KernelTable<Function>& table, Args&&... args) {
  if (device.backend != Backend::meta) table[device.backend](std::forward<Args>(args)...);
}

}  // namespace flambeau::forms
