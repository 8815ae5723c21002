#include "core/geometry/memory_format.h"

#include <algorithm>

namespace flambeau {

bool has_channels_inside(IntList sizes, IntList strides) {
  const size_t rank = sizes.size();
  if (rank < 3 || strides[1] == 0) return false;
  int64_t least = 0;
  const auto lies_around = [&](size_t dim) {
    // The strides of an empty tensor may be of any size.
    return sizes[dim] != 0 && strides[dim] >= least &&
           !__builtin_mul_overflow(strides[dim], sizes[dim], &least);
  };
  if (!lies_around(1)) return false;
  for (size_t dim = rank - 1; dim >= 2; --dim)
    if (!lies_around(dim)) return false;
  // One channel of one element: the order of the dims does not show. Nor does where one image is.
  return least != strides[1] && (sizes[0] == 1 || lies_around(0));
}

Shape channels_last_strides(IntList sizes) {
  Shape strides(sizes);
  uint64_t step = 1;  // unsigned: the strides of an empty tensor may wrap around
  const auto place = [&](size_t dim) {
    strides[dim] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(sizes[dim], 1));
  };
  place(1);
  for (size_t dim = sizes.size() - 1; dim >= 2; --dim) place(dim);
  place(0);
  return strides;
}

}  // namespace flambeau
