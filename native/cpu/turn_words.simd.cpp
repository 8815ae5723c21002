#include "cpu/turn_words.h"

#include <algorithm>

#include "cpu/turned_tiles.h"
#include "cpu/walk.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kWidest = 64;
#elif defined(__AVX2__)
constexpr int64_t kWidest = 32;
#else
constexpr int64_t kWidest = 16;
#endif
/// Of eight rows if registers hold as much: strides are often such that all rows compete for the
/// same few lines of the first-level cache.
template <class Word>
constexpr int64_t kRowBytes = sizeof(Word) > 8 ? 16
                                               : std::clamp<int64_t>(8 * sizeof(Word), 16, kWidest);
template <class Word>
using Square = detail::WordSquare<Word, kRowBytes<Word>>;

}  // namespace

template <class Word>
void turn_words(Word* to, int64_t to_step, const Word* from, int64_t from_step, int64_t rows,
                int64_t columns) {
  detail::turn_by<Square<Word>, detail::Far::destination>(to, to_step, from, from_step, rows,
                                                          columns);
}

#define FLAMBEAU_TURN(Word) \
  template void turn_words<Word>(Word*, int64_t, const Word*, int64_t, int64_t, int64_t);
FLAMBEAU_TURN(uint8_t)
FLAMBEAU_TURN(uint16_t)
FLAMBEAU_TURN(uint32_t)
FLAMBEAU_TURN(uint64_t)
FLAMBEAU_TURN(Bytes16)
#undef FLAMBEAU_TURN

}  // namespace flambeau::cpu::FLAMBEAU_ISA
