#pragma once

#include <algorithm>

#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"

namespace flambeau::cpu {

/// Calls body<T>(rows' data, begin, end, length, place) for ranges of rows along `dim`; place(row,
/// i) is where element i of a row's result goes, in a dense result with `written` elements at
/// `dim`.
template <class Body>
void for_rows(const Tensor& self, Dim dim, int64_t written, const char* op, const Body& body) {
  const Tensor source = rows_along(self, dim);
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim);
  const int64_t count = length == 0 ? 0 : self.numel() / length;
  check(length < int64_t{1} << 32, ErrorKind::runtime, op, "(): a dim of size ", length,
        " is too long");
  const DimBlocks blocks(self.sizes(), dim);
  visit_ordered_dtype(self.dtype(), op, [&]<class T>() {
    const T* const from = source.data<T>();
    const int64_t grain = std::max<int64_t>(1, kGrain / 8 / std::max<int64_t>(1, length));
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      body.template operator()<T>(from, begin, end, length, [&](int64_t row, int64_t i) {
        return (row / blocks.inner * written + i) * blocks.inner + row % blocks.inner;
      });
    });
  });
}

}  // namespace flambeau::cpu
