#pragma once

#include <algorithm>
#include <optional>

#include "core/geometry/shape_rules.h"
#include "cpu/blocks.h"

namespace flambeau::cpu {

/// A tensor seen as [outer, count, inner], dense, with the reduced dims in the middle: as it lies
/// where the reduced dims are neighbours, else a copy with them last.
struct ReducedRows {
  Tensor data;
  int64_t outer = 1, count = 1, inner = 1;

  ReducedRows(const Tensor& self, std::optional<IntList> dims, const char* op) {
    const Shape reduced = shape_rules::wrap_dims(dims, self.dim(), op);
    const size_t rank = self.sizes().size();
    Shape is_reduced(std::max<size_t>(rank, 1), 0);  // a 0-d tensor has a dim 0 to reduce
    for (const int64_t dim : reduced) is_reduced[static_cast<size_t>(dim)] = 1;
    if (self.is_contiguous() && place(self.sizes(), is_reduced)) {
      data = self;
      return;
    }
    if (in_memory_order(self, is_reduced)) return;
    Shape sizes, strides;
    for (const int64_t wanted : {0, 1}) {
      for (size_t d = 0; d < rank; ++d) {
        if (is_reduced[d] != wanted) continue;
        sizes.push_back(self.sizes()[d]);
        strides.push_back(self.strides()[d]);
      }
    }
    data = contiguous_data(make_view(self, sizes, strides, self.offset()));
    outer = count = inner = 1;
    for (size_t d = 0; d < rank; ++d) (is_reduced[d] ? count : outer) *= self.sizes()[d];
  }

 private:
  /// Whether its elements are so in the order of its memory, where no kept dim overtakes another.
  bool in_memory_order(const Tensor& self, IntList is_reduced) {
    const MemoryOrder order(self);
    const Tensor turned = order.turned(self);
    if (!turned.is_contiguous()) return false;
    Shape reduced;
    int64_t last_kept = -1;
    for (const int64_t dim : order) {
      reduced.push_back(is_reduced[static_cast<size_t>(dim)]);
      if (reduced.back()) continue;
      if (dim < last_kept) return false;
      last_kept = dim;
    }
    outer = count = inner = 1;
    if (!place(turned.sizes(), reduced)) return false;
    data = turned;
    return true;
  }
  /// Whether the dims that matter are kept*, reduced*, kept*; fills in the sizes.
  bool place(IntList sizes, IntList is_reduced) {
    int stage = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      if (is_reduced[d]) {
        if (stage == 2) return false;
        stage = 1;
        count *= sizes[d];
      } else {
        if (stage == 1) stage = 2;
        (stage == 0 ? outer : inner) *= sizes[d];
      }
    }
    return true;
  }
};

}  // namespace flambeau::cpu
