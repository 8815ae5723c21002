#pragma once

#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"

namespace flambeau::cpu {

/// destination[...] += source over one shape; places may coincide, so it is done in order.
inline void add_into(const Tensor& destination, const Tensor& source, const char* op) {
  check(destination.sizes() == source.sizes(), ErrorKind::runtime, op, "(): a gradient of shape ",
        source.sizes(), " for a view of shape ", destination.sizes());
  if (source.numel() == 0) return;
  const Rows<2> rows(source.sizes(), {IntList(destination.strides()), IntList(source.strides())});
  visit_dtype(source.dtype(), [&]<class T>() {
    T* const to = destination.data<T>();
    const T* const from = source.data<T>();
    rows.walk(0, rows.count(), [&](const std::array<int64_t, 2>& at) {
      for (int64_t i = 0; i < rows.length(); ++i) {
        T& sum = to[at[0] + i * rows.step(0)];
        sum = plus(sum, from[at[1] + i * rows.step(1)]);
      }
    });
  });
}

}  // namespace flambeau::cpu
