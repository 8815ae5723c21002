#pragma once

#include <vector>

#include "cpu/blocks.h"

namespace flambeau::cpu {

/// Positions of the elements that are not 0 as rows of a [count, rank] int64 tensor.
Tensor positions_of_nonzero(const Tensor& tensor);

/// Advanced indexing worked out: an element offset for each place of the broadcast index, and the
/// geometry of the dims before and behind it.
struct AdvancedIndex {
  Shape result_sizes;            ///< before + broadcast + behind
  Shape before, before_strides;  ///< dims in front of the index, and their strides in self
  Shape behind, behind_strides;
  Tensor offsets;  ///< dense int64: one element offset per place
  int64_t places = 1;
};

/// `indices`: one for each leading dim, an undefined one keeps the dim; a mask stands for as many
/// dims as it has. Errors name `op`, the index and the size.
AdvancedIndex work_out(const Tensor& self, TensorList indices, const char* op);

}  // namespace flambeau::cpu
