#include "cpu/lapack/lane_moves.h"

#include "cpu/linalg/vector.h"
#include "cpu/transpose.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// body(i, l) for squares of so many words, as far as they are whole, from word `begin` on. Returns
/// where that ends.
template <class Body>
int64_t over_squares(int64_t side, int64_t begin, int64_t length, int64_t count, const Body& body) {
  if (count % side != 0) return begin;
  for (; begin + side <= length; begin += side)
    for (int64_t l = 0; l < count; l += side) body(begin, l);
  return begin;
}

template <class Word>
void gather(int64_t count, int64_t length, const Word* const* at, Word* lanes, int64_t step) {
  constexpr int side = kLanes<Word>;
  const int64_t wide = over_squares(side, 0, length, count, [&](int64_t i, int64_t l) {
    Vector<Word> rows[side];
#pragma GCC unroll 16
    for (int r = 0; r < side; ++r) rows[r] = load(at[l + r] + i);
    transpose_square<Word>(rows);
#pragma GCC unroll 16
    for (int c = 0; c < side; ++c) store(lanes + (i + c) * step + l, rows[c]);
  });
  int64_t i = over_squares(kBlock<Word>, wide, length, count, [&](int64_t j, int64_t l) {
    transpose_rows<Word>([&](int64_t c) { return lanes + (j + c) * step + l; },
                         [&](int64_t r) { return at[l + r] + j; });
  });
  for (; i < length; ++i)
    for (int64_t l = 0; l < count; ++l) lanes[i * step + l] = at[l][i];
}

template <class Word>
void scatter(int64_t count, int64_t length, const Word* lanes, int64_t step, Word* const* at) {
  constexpr int side = kLanes<Word>;
  const int64_t wide = over_squares(side, 0, length, count, [&](int64_t i, int64_t l) {
    Vector<Word> rows[side];
#pragma GCC unroll 16
    for (int c = 0; c < side; ++c) rows[c] = load(lanes + (i + c) * step + l);
    transpose_square<Word>(rows);
#pragma GCC unroll 16
    for (int r = 0; r < side; ++r) store(at[l + r] + i, rows[r]);
  });
  int64_t i = over_squares(kBlock<Word>, wide, length, count, [&](int64_t j, int64_t l) {
    transpose_rows<Word>([&](int64_t r) { return at[l + r] + j; },
                         [&](int64_t c) { return lanes + (j + c) * step + l; });
  });
  for (; i < length; ++i)
    for (int64_t l = 0; l < count; ++l) at[l][i] = lanes[i * step + l];
}

}  // namespace

template <class Word>
const LaneMoves<Word>& lane_moves() {
  static constexpr LaneMoves<Word> kernels{&gather<Word>, &scatter<Word>};
  return kernels;
}
template const LaneMoves<uint32_t>& lane_moves();
template const LaneMoves<uint64_t>& lane_moves();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
