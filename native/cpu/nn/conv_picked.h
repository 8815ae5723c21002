#pragma once

#include "core/geometry/arguments.h"
#include "core/tensor/views.h"

// Filters of one tap with strides see one element of each rectangle of them: it is picked out, and
// the strides are 1 then.

namespace flambeau::cpu {

inline const Ints<2> kUnitStride(std::array<int64_t, 2>{1, 1});

/// `weight`: sizes, of which the last two are the filter's.
inline bool sees_picked(IntList weight, const Ints<2>& stride, const Ints<2>& padding) {
  return weight[2] == 1 && weight[3] == 1 && (stride[0] > 1 || stride[1] > 1) && padding[0] == 0 &&
         padding[1] == 0;
}

/// A view of what such filters see of images, or of one image.
inline Tensor picked(const Tensor& images, const Ints<2>& stride) {
  const Tensor rows = make_view(images, views::slice(images, -2, {}, {}, stride[0]));
  return make_view(rows, views::slice(rows, -1, {}, {}, stride[1]));
}

}  // namespace flambeau::cpu
