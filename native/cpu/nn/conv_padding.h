#pragma once

#include <algorithm>

#include "cpu/linalg/vector.h"
#include "cpu/nn/conv_kernel.h"

// Planes inside zeros. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Rows of vectors: read(count, lane) makes a function of places in the source, whose vectors hold
/// the elements from there on in lanes [lane, lane + count), and 0 in all others; `whole` is what
/// read(kLanes, 0) makes, or is faster.
template <class E, class T, class Read, class Whole>
void pad_by_vectors(const SourceRows<T>& rows, E* to, const Read& read, const Whole& whole) {
  constexpr int64_t lanes = kLanes<E>;
  // Vectors of nothing but elements, in the order of memory; then what is left of all rows.
  const int64_t inner = (rows.begin + lanes - 1) / lanes * lanes;
  const int64_t inner_end = std::max((rows.begin + rows.count) / lanes * lanes, inner);
  for (int64_t i = 0; inner < inner_end && i < rows.rows; ++i) {
    E* const row = to + i * rows.pitch;
    const int64_t place = i * rows.row_step - rows.begin * rows.step, step = rows.step;
    for (int64_t j = inner; j < inner_end; j += lanes) store(row + j, whole(place + j * step));
  }
  for (int64_t j = 0; j < rows.pitch; j += lanes) {
    if (j == inner) j = inner_end;
    if (j >= rows.pitch) break;
    const int64_t lane = std::clamp<int64_t>(rows.begin - j, 0, lanes);
    const int64_t count = std::clamp<int64_t>(rows.begin + rows.count - j, 0, lanes) - lane;
    const int64_t first = (j - rows.begin) * rows.step;
    const Mask<E> room(std::min(lanes, rows.pitch - j));
    const auto reader = read(std::max<int64_t>(count, 1), std::min(lane, lanes - 1));
    // Where a row is less than a vector, what is behind it is written next.
    const int64_t overrun =
        rows.pitch <= lanes
            ? std::max<int64_t>(rows.rows - (lanes + rows.pitch - 1) / rows.pitch, 0)
            : 0;
    if (count <= 0) {
      for (int64_t i = 0; i < rows.rows; ++i) room.store(to + i * rows.pitch + j, Vector<E>{});
      continue;
    }
    for (int64_t i = 0; i < overrun; ++i)
      store(to + i * rows.pitch, reader(i * rows.row_step + first));
    for (int64_t i = overrun; i < rows.rows; ++i)
      room.store(to + i * rows.pitch + j, reader(i * rows.row_step + first));
  }
}

/// Every second element of two vectors, from the first or from the second one on.
template <class T, int begin>
Vector<T> second_elements(Vector<T> first, Vector<T> second) {
  typedef typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type Index;
  Index places;
  for (int i = 0; i < kLanes<T>; ++i) places[i] = 2 * i + begin;
  return __builtin_shuffle(first, second, places);
}
template <class T>
Vector<T> even_elements(Vector<T> first, Vector<T> second) {
  return second_elements<T, 0>(first, second);
}
template <class T>
Vector<T> odd_elements(Vector<T> first, Vector<T> second) {
  return second_elements<T, 1>(first, second);
}

/// Every second of the elements from here on, of which nothing behind the last is read.
template <class T>
Vector<T> every_second(const T* from) {
  constexpr int lanes = kLanes<T>;
  typedef typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type Index;
  Index places;
  for (int i = 0; i < lanes; ++i) places[i] = 2 * i + (2 * i < lanes ? 0 : 1);
  return __builtin_shuffle(load(from), load(from + lanes - 1), places);
}

/// Every second element; those between are read where they lie between two that are wanted.
template <class T>
class EvenReader {
  static constexpr int64_t kLine = kLanes<T>;

 public:
  EvenReader(const T* data, int64_t count, int64_t lane)
      : data_(data),
        in_first_(2 * lane < kLine),
        in_second_(2 * (lane + count) - 1 > kLine),
        first_(in_first_ ? std::min(2 * count - 1, kLine - 2 * lane) : 1, in_first_ ? 2 * lane : 0),
        second_(in_second_ ? 2 * (lane + count) - 1 - std::max(2 * lane, kLine) : 1,
                in_second_ ? std::max<int64_t>(2 * lane - kLine, 0) : 0) {}
  Vector<T> operator()(int64_t place) const {
    const T* const from = data_ + place;
    return even_elements<T>(in_first_ ? first_.load(from) : Vector<T>{},
                            in_second_ ? second_.load(from + kLine) : Vector<T>{});
  }

 private:
  const T* data_;
  bool in_first_, in_second_;
  Mask<T> first_, second_;
};

/// Rows whose elements are apart; copy(element, where to).
template <class E, class T, class Copy>
void pad_by_elements(const SourceRows<T>& rows, E* to, const Copy& copy) {
  for (int64_t i = 0; i < rows.rows; ++i, to += rows.pitch) {
    std::fill_n(to, rows.begin, E(0));
    copy(i * rows.row_step, to + rows.begin);
    std::fill(to + rows.begin + rows.count, to + rows.pitch, E(0));
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
