#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// Rows of `length` dense elements, `to_step` bytes apart: each is one element again and again, of
/// those that lie `from_step` bytes apart.
FLAMBEAU_IN_EACH_SET(template <class Word> void fill_rows(char* to, int64_t to_step,
                                                          const char* from, int64_t from_step,
                                                          int64_t rows, int64_t length);)

}  // namespace flambeau::cpu
