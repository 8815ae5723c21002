#pragma once

#include "core/backends/instruction_set.h"
#include "core/types/dtype.h"

namespace flambeau::cpu {

/// to[i] = from[i] for i in [0, count), both dense and not overlapping, dtypes that differ.
/// A complex value loses its imaginary part; anything but zero is true; floats are truncated
/// towards zero.
using ConvertFunction = void(char* to, const char* from, int64_t count);

/// Compiled once per instruction set.
FLAMBEAU_IN_EACH_SET(ConvertFunction* find_convert(DType to, DType from);)

inline ConvertFunction* find_convert(DType to, DType from) {
  return FLAMBEAU_PICK(find_convert)(to, from);
}

}  // namespace flambeau::cpu
