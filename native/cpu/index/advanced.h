#pragma once

#include <optional>
#include <vector>

#include "cpu/blocks.h"

namespace flambeau::cpu {

/// Positions of the elements that are not 0 as rows of a [count, rank] int64 tensor.
Tensor positions_of_nonzero(const Tensor& tensor);

/// A dim's index whose elements are the places one after another: dense int64.
struct OnlyIndex {
  Tensor index;
  const int64_t* values;      ///< its elements
  int64_t size, stride, dim;  ///< of self
  const char* op;
  /// Of the element that a place reads or writes.
  int64_t offset(int64_t place) const { return wrap_index(values[place], size, dim, op) * stride; }
};

/// Advanced indexing worked out: an element offset for each place of the broadcast index, and the
/// geometry of the dims before and behind it.
struct AdvancedIndex {
  Shape result_sizes;            ///< before + broadcast + behind
  Shape before, before_strides;  ///< dims in front of the index, and their strides in self
  Shape behind, behind_strides;
  Shape shape;                    ///< of the places
  std::optional<OnlyIndex> only;  ///< or else
  Tensor offsets;                 ///< dense int64: one element offset per place
  int64_t places = 1;
};

/// `indices`: one for each leading dim, an undefined one keeps the dim; a mask stands for as many
/// dims as it has. Errors name `op`, the index and the size.
AdvancedIndex work_out(const Tensor& self, TensorList indices, const char* op);

/// The offsets, of an only index too.
Tensor offsets_of(const AdvancedIndex& found);

}  // namespace flambeau::cpu
