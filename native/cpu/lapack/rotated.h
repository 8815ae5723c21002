#pragma once

#include "cpu/lapack/lane_rotations.h"
#include "cpu/lapack/lanes.h"

namespace flambeau::cpu::lapack {

/// Matrices side by side, and what rotations of their columns find.
template <class T>
struct Rotated {
  Lanes<T> elements, vectors;
  Lanes<Real<T>> values;

  Rotated(int64_t lanes, int64_t rows, int64_t columns, bool with_vectors)
      : elements(lanes, rows, columns),
        vectors(lanes, with_vectors ? columns : 0, with_vectors ? columns : 0),
        values(lanes, columns, 1) {}
};

/// find(some, first, count, vectors of these or null) for groups of the matrices [begin, end), of
/// no more columns than rows, where those are few, returns the bits of which it found nothing;
/// one(number) for those, or for all.
template <class T, class Find, class One>
void rotate_each(int64_t rows, int64_t columns, bool with_vectors, int64_t begin, int64_t end,
                 const Find& find, const One& one) {
  if (columns == 0 || rows > kRotated) {
    for (; begin < end; ++begin) one(begin);
    return;
  }
  const int64_t lanes = lane_rotations<T>().lanes;
  Rotated<T> some(lanes, rows, columns, with_vectors);
  T* const vectors = with_vectors ? some.vectors.data() : nullptr;
  in_groups(
      begin, end, lanes,
      [&](int64_t first, int64_t count) { return find(some, first, count, vectors); }, one);
}

}  // namespace flambeau::cpu::lapack
