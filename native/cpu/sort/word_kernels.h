#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// Loops over unsigned words, keys or items, compiled once per instruction set. `spare`, `to` and
/// `places` have room for `count` words.
template <class Word>
struct WordKernels {
  /// In their place, or into `spare`. nullptr where the instruction set cannot pack words: sorting
  /// by digits is faster there.
  void (*sort)(Word* words, Word* spare, int64_t count, bool to_spare);
  /// The word of a rank in order; words, and what is in `spare`, are in no order then.
  Word (*select)(Word* words, Word* spare, int64_t count, int64_t rank);
  /// Moves words above `limit` to `spare`, and the others together; how many these are.
  int64_t (*partition)(Word* words, Word* spare, int64_t count, Word limit);
  /// The places of words in [low, high], counted from `first`; how many these are. Adds to `below`
  /// how many lie below.
  int64_t (*find)(Word* places, const Word* words, int64_t count, Word first, Word low, Word high,
                  int64_t& below);
  /// Of words in order those that the word before does not equal, among words [begin, end).
  int64_t (*distinct)(Word* to, const Word* words, int64_t begin, int64_t end);
};

FLAMBEAU_IN_EACH_SET(template <class Word> const WordKernels<Word>& word_kernels();)

/// The kernels for the processor at hand.
template <class Word>
const WordKernels<Word>& word_kernels() {
  static const WordKernels<Word>& best = FLAMBEAU_PICK(word_kernels<Word>)();
  return best;
}

}  // namespace flambeau::cpu
