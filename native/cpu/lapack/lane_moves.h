#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// Words of several matrices into lanes and back: word i of matrix l is at[l][i] on one side and
/// lanes[i * step + l] on the other. Compiled once per instruction set (lane_moves.simd.cpp).
template <class Word>
struct LaneMoves {
  void (*gather)(int64_t count, int64_t length, const Word* const* at, Word* lanes, int64_t step);
  void (*scatter)(int64_t count, int64_t length, const Word* lanes, int64_t step, Word* const* at);
};

FLAMBEAU_IN_EACH_SET(template <class Word> const LaneMoves<Word>& lane_moves();)

/// The kernels for the processor at hand.
template <class Word>
const LaneMoves<Word>& lane_moves() {
  static const LaneMoves<Word>& best = FLAMBEAU_PICK(lane_moves<Word>)();
  return best;
}

}  // namespace flambeau::cpu
