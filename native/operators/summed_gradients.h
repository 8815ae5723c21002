#pragma once

#include <span>

#include "autograd/graph/node.h"
#include "core/iteration/iterator.h"

namespace flambeau::forms {

/// A gradient to compute, and the edge along which it flows.
struct WantedGradient {
  const autograd::Edge& edge;
  Tensor& gradient;
};

namespace detail {

/// Gradients of operands that were broadcast are sums: computed and summed a part at a time while
/// it is in the cache, they are never written in full. False, and nothing is done, where there are
/// none, or where that does not pay. The first input is the gradient of the result.
bool sum_gradients(const char* op, PromotionRule rule, std::span<const Operand> inputs,
                   FunctionRef<void(Iterator&)> kernel, std::span<const WantedGradient> wanted);

}  // namespace detail
}  // namespace flambeau::forms
