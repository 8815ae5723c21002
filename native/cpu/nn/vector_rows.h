#pragma once

/// Vectors of a row in the type that is computed in: halves are converted as they are read and
/// written. Include only from *.simd.cpp files.

#include <utility>

#include "cpu/linalg/strided_lines.h"
#include "cpu/rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template <class T>
FLAMBEAU_INLINE Vector<Compute<T>> load_wide(const T* from) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return load(from);
  } else {
    return Widened<T>::widen(from);
  }
}

template <class T>
FLAMBEAU_INLINE void store_wide(T* to, Vector<Compute<T>> value) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    store(to, value);
  } else {
    *reinterpret_cast<HalfVector*>(to) = narrowed<T>(value);
  }
}

/// Halves of a vector are added until one element is left.
template <class C, class Lanes, int... i>
FLAMBEAU_INLINE C sum_of_halves(const Lanes& value, std::integer_sequence<int, i...>) {
  constexpr int half = static_cast<int>(sizeof...(i));
  if constexpr (half == 1) {
    return value[0] + value[1];
  } else {
    const auto sum = __builtin_shufflevector(value, value, i...) +
                     __builtin_shufflevector(value, value, (half + i)...);
    return sum_of_halves<C>(sum, std::make_integer_sequence<int, half / 2>());
  }
}
template <class C>
FLAMBEAU_INLINE C sum_of_lanes(const Vector<C>& value) {
  return sum_of_halves<C>(value, std::make_integer_sequence<int, kLanes<C> / 2>());
}

/// The last `count` lanes of a vector, behind zeros.
template <class C>
FLAMBEAU_INLINE Vector<C> last_lanes(const Vector<C>& value, int64_t count) {
  C lanes[kLanes<C>];
  store(lanes, value);
  return Mask<C>(count, kLanes<C> - count).load(lanes);
}

/// The sums of `sums` terms over i in [0, count): vectors(i, lanes) adds those of a vector's
/// elements from i on to lanes[0, sums), element(i, totals) those of one element. Independent sums
/// are emptied into a second level every 64 steps. The last vector overlaps the one before, where
/// its terms do not count, unless each element is wanted `once`, as where terms are written too.
template <bool once = false, int sums, class C, class Vectors, class Element>
FLAMBEAU_INLINE void sum_rows(int64_t count, C (&result)[sums], const Vectors& vectors,
                              const Element& element) {
  constexpr int lanes = kLanes<C>, wide = 4;
  Vector<C> total[sums] = {};
  int64_t i = 0;
  while (i + wide * lanes <= count) {
    Vector<C> part[wide][sums] = {};
    const int64_t end = std::min<int64_t>(i + 64 * wide * lanes, count - wide * lanes + 1);
    for (; i < end; i += wide * lanes) {
#pragma GCC unroll 4
      for (int k = 0; k < wide; ++k) vectors(i + k * lanes, part[k]);
    }
#pragma GCC unroll 2
    for (int s = 0; s < sums; ++s)
      total[s] += (part[0][s] + part[1][s]) + (part[2][s] + part[3][s]);
  }
  for (; i + lanes <= count; i += lanes) vectors(i, total);
  if (!once && i > 0 && i < count) {
    Vector<C> rest[sums] = {};
    vectors(count - lanes, rest);
#pragma GCC unroll 2
    for (int s = 0; s < sums; ++s) total[s] += last_lanes<C>(rest[s], count - i);
    i = count;
  }
#pragma GCC unroll 2
  for (int s = 0; s < sums; ++s) result[s] = sum_of_lanes<C>(total[s]);
  if (i == count) return;
  C rest[sums] = {};
  for (; i < count; ++i) element(i, rest);
  for (int s = 0; s < sums; ++s) result[s] += rest[s];
}

/// vectors(i) for whole vectors of [0, count), of which the last one may overlap the one before;
/// element(i) where there are too few elements for one.
template <class C, class Vectors, class Element>
FLAMBEAU_INLINE void for_vectors(int64_t count, const Vectors& vectors, const Element& element) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes<C> <= count; i += kLanes<C>) vectors(i);
  if (i > 0 && i < count) return vectors(count - kLanes<C>);
  for (; i < count; ++i) element(i);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
