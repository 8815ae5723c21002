#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// to[r * to_step + c] = from[c * from_step + r], in the largest squares that registers turn;
/// `from` lies near.
FLAMBEAU_IN_EACH_SET(template <class Word> void turn_words(Word* to, int64_t to_step,
                                                           const Word* from, int64_t from_step,
                                                           int64_t rows, int64_t columns);)

}  // namespace flambeau::cpu
