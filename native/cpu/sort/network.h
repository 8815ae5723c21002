#pragma once

// Include only from *.simd.cpp files.

#include <utility>

#include "cpu/sort/packing.h"

/// Sorting a few vectors of unsigned words in registers, by Batcher's bitonic network: which words
/// are compared does not depend on them.
///
/// Words are numbered down the columns of a block of `rows` vectors: word i is in row i % rows of
/// lane i / rows. Comparisons over distances below `rows` are then between whole vectors.
namespace flambeau::cpu::FLAMBEAU_ISA {

/// The most rows that leave registers for what is computed.
inline constexpr int kMostRows = kVectorBytes == 64 ? 16 : 8;

/// As long a row as this, at most, is sorted by a network.
template <class T>
inline constexpr int64_t kNetwork = int64_t{kMostRows} * kLanes<T>;

namespace detail {

/// Words are compared as signed numbers, which more instruction sets can.
template <class T>
using Signed = std::make_signed_t<T>;
template <class T>
inline constexpr T kTop = T{1} << (sizeof(T) * 8 - 1);

/// Calls body(integral_constant) for 0 to count - 1.
template <int count, class Body>
FLAMBEAU_INLINE void repeat(const Body& body) {
  [&]<int... index>(std::integer_sequence<int, index...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, index>()), ...);
  }
  (std::make_integer_sequence<int, count>());
}

template <class T>
struct Lanes {
  Vector<T> index;
  /// body(lane) for each.
  template <class Body>
  constexpr explicit Lanes(const Body& body) : index{} {
    for (int lane = 0; lane < kLanes<T>; ++lane) index[lane] = static_cast<T>(body(lane));
  }
};

template <class T>
FLAMBEAU_INLINE void order(Vector<T>& low, Vector<T>& high) {
  const Vector<T> a = low, b = high;
  low = a < b ? a : b;
  high = a < b ? b : a;
}

/// Lanes of `lower` where a lane's number lacks the highest bit of `distance`, else of `upper`.
template <int distance, class T>
FLAMBEAU_INLINE Vector<T> choose(Vector<T> lower, Vector<T> upper) {
  constexpr int highest = 1 << (31 - __builtin_clz(distance));
  const auto place = Lanes<T>([](int i) { return i & highest ? i + kLanes<T> : i; }).index;
  return __builtin_shuffle(lower, upper, place);
}

template <int distance, class T>
FLAMBEAU_INLINE Vector<T> swap_lanes(Vector<T> words) {
  return __builtin_shuffle(words, Lanes<T>([](int i) { return i ^ distance; }).index);
}

/// Orders each word i and word i ^ distance.
template <int distance, int rows, class T>
FLAMBEAU_INLINE void compare(Vector<T> (&block)[rows]) {
  constexpr int down = distance % rows, across = distance / rows;
  repeat<rows>([&](auto index) __attribute__((always_inline)) {
    constexpr int i = index, j = i ^ down;
    if constexpr (across == 0) {
      if constexpr (i < j) order<T>(block[i], block[j]);
    } else if constexpr (i == j) {
      Vector<T> low = block[i], high = swap_lanes<across, T>(low);
      order<T>(low, high);
      block[i] = choose<across, T>(low, high);
    } else if constexpr (i < j) {
      Vector<T> low = block[i], high = swap_lanes<across, T>(block[j]);
      order<T>(low, high);
      block[i] = choose<across, T>(low, high);
      block[j] = swap_lanes<across, T>(choose<across, T>(high, low));
    }
  });
}

template <int distance, int rows, class T>
FLAMBEAU_INLINE void merge(Vector<T> (&block)[rows]) {
  if constexpr (distance > 0) {
    compare<distance, rows, T>(block);
    merge<distance / 2, rows, T>(block);
  }
}

/// Sorts groups of `size` words.
template <int size, int rows, class T>
FLAMBEAU_INLINE void sort_groups(Vector<T> (&block)[rows]) {
  if constexpr (size > 1) {
    sort_groups<size / 2, rows, T>(block);
    compare<size - 1, rows, T>(block);  // the second half backwards
    merge<size / 4, rows, T>(block);
  }
}

/// From the order down columns to that along rows: for each bit of a row's number, the highest
/// first, interleaving makes it the lowest bit of a lane's, whose highest takes its place.
template <int bit, int rows, class T>
FLAMBEAU_INLINE void transpose(Vector<T> (&block)[rows]) {
  if constexpr (bit > 0) {
    constexpr int lanes = kLanes<T>;
    const auto first = Lanes<T>([](int i) { return i / 2 + i % 2 * lanes; }).index;
    const auto second = Lanes<T>([](int i) { return (i + lanes) / 2 + i % 2 * lanes; }).index;
    repeat<rows>([&](auto index) __attribute__((always_inline)) {
      constexpr int i = index, j = i | bit;
      if constexpr (i != j) {
        const Vector<T> a = block[i], b = block[j];
        block[i] = __builtin_shuffle(a, b, first);
        block[j] = __builtin_shuffle(a, b, second);
      }
    });
    transpose<bit / 2, rows, T>(block);
  }
}

template <int rows, class T>
[[gnu::noinline]] void sort_block(const T* from, T* to, int64_t count) {
  using S = Signed<T>;
  constexpr int lanes = kLanes<T>, squares = rows > lanes ? rows / lanes : 1;
  const int64_t full = count / lanes, rest = count % lanes;
  const Vector<T> turned = splat(kTop<T>), most = ~Vector<T>{};
  const Vector<T> last = load_first(from + full * lanes, rest, most);
  Vector<S> block[rows];
  repeat<rows>([&](auto i) __attribute__((always_inline)) {
    block[i] = (Vector<S>)(turned ^ (i < full ? load(from + i * lanes) : i == full ? last : most));
  });
  sort_groups<rows * lanes, rows, S>(block);
  transpose<(rows > lanes ? lanes : rows) / 2, rows, S>(block);
  Vector<T> tail{};
  repeat<rows>([&](auto index) __attribute__((always_inline)) {
    // Where there are more rows than lanes, each square of them was transposed for itself.
    constexpr int i = index, place = i % (rows / squares) * squares + i / (rows / squares);
    const Vector<T> words = (Vector<T>)block[i] ^ turned;
    if (place < full) {
      store(to + place * lanes, words);
    } else if (place == full) {
      tail = words;
    }
  });
  if (rest) Mask<T>(rest).store(to + full * lanes, tail);
}

template <int rows, class T>
void sort_few(const T* from, T* to, int64_t count) {
  if constexpr (rows > 1) {
    if (count <= rows / 2 * kLanes<T>) return sort_few<rows / 2>(from, to, count);
  }
  sort_block<rows>(from, to, count);
}

}  // namespace detail

/// to[0, count), in order, from from[0, count): the same memory, or other. count <= kNetwork.
template <class T>
inline void sort_by_network(const T* from, T* to, int64_t count) {
  detail::sort_few<kMostRows>(from, to, count);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
