#pragma once

/// Transforms along several dims of many independent parts, each of which stays in a cache between
/// dims.

#include <algorithm>

#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"
#include "cpu/fft/plan.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// Outermost dims of the result that are not transformed.
class IndependentParts {
 public:
  IndependentParts(const Tensor& result, IntList dims, IntList order) : order_(order) {
    for (int64_t dim : order) {
      if (std::find(dims.begin(), dims.end(), dim) != dims.end()) break;
      sizes_.push_back(result.size(dim));
      count_ *= result.size(dim);
    }
    bytes_ = result.numel() / count_ * static_cast<int64_t>(result.itemsize());
  }
  int64_t count() const { return count_; }

  /// Whether every thread has some, as many as the others or nearly so, and holds one in its cache.
  bool are_worth() const {
    const int64_t threads = num_threads();
    const bool are_even = count_ % threads == 0 || count_ >= 8 * threads;
    return count_ > 1 && are_even && bytes_ <= ::flambeau::cpu::fft::near_cache_bytes() / 2;
  }
  /// A part of a tensor that has these dims.
  Tensor of(const Tensor& tensor, int64_t part) const {
    Shape sizes(tensor.sizes());
    int64_t offset = tensor.offset();
    for (size_t i = sizes_.size(); i-- > 0;) {
      const auto dim = static_cast<size_t>(order_[i]);
      sizes[dim] = 1;
      offset += part % sizes_[i] * tensor.strides()[dim];
      part /= sizes_[i];
    }
    return make_view(tensor, sizes, tensor.strides(), offset);
  }

 private:
  IntList order_;
  Shape sizes_;
  int64_t count_ = 1, bytes_ = 0;
};

/// Dims to transform over, of which the outermost, if it is not the first, may follow once the
/// others are done part by part: memory is passed over once less.
struct DimsByParts {
  Shape inner, last;

  DimsByParts(const Tensor& result, IntList dims, IntList order) : inner(dims) {
    if (dims.size() < 3 || dims[0] == order[0]) return;
    Shape others;
    for (int64_t dim : dims)
      if (dim != order[0]) others.push_back(dim);
    if (others.size() == dims.size() || !IndependentParts(result, others, order).are_worth())
      return;
    inner = others;
    last = {order[0]};
  }
};

/// Calls body(input, result) for parts, side by side, or for all at once.
template <class Body>
void for_parts(const Tensor& result, const Tensor& self, IntList dims, IntList order,
               const Body& body) {
  const IndependentParts parts(result, dims, order);
  if (dims.size() < 2 || !parts.are_worth()) return body(self, result);
  parallel_for(0, parts.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(parts.of(self, i), parts.of(result, i));
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
