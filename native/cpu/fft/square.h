#pragma once

/// Transposition of the square that kLanes lines make of 64 bytes of each.

#include <cstring>
#include <utility>

#include "core/base/macros.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// 64 bytes of T.
template <class T>
struct RowOf {
  typedef T type __attribute__((vector_size(64)));
};

namespace detail {

/// The first or the second halves of two rows, element by element in turns.
template <int second, class Row, int... i>
FLAMBEAU_INLINE void interleave(Row& to, const Row& a, const Row& b,
                                std::integer_sequence<int, i...>) {
  constexpr int n = static_cast<int>(sizeof...(i));
  to = __builtin_shufflevector(a, b, (second * n / 2 + i / 2 + i % 2 * n)...);
}

/// Every other one of the elements of two rows, and the elements of a row from the last to the
/// first.
template <int first, class Row, int... i>
FLAMBEAU_INLINE void every_other(Row& to, const Row& a, const Row& b,
                                 std::integer_sequence<int, i...>) {
  to = __builtin_shufflevector(a, b, (first + 2 * i)...);
}
template <class Row, int... i>
FLAMBEAU_INLINE void turn_round(Row& row, std::integer_sequence<int, i...>) {
  constexpr int last = static_cast<int>(sizeof...(i)) - 1;
  row = __builtin_shufflevector(row, row, (last - i)...);
}

}  // namespace detail

/// Rows become columns: in log2(n) rounds, each of which interleaves rows that are n / 2 apart.
template <class T>
FLAMBEAU_INLINE void transpose(typename RowOf<T>::type (&rows)[64 / sizeof(T)]) {
  constexpr int n = 64 / sizeof(T);
  using Row = typename RowOf<T>::type;
  constexpr auto order = std::make_integer_sequence<int, n>();
  for (int round = 1; round < n; round *= 2) {
    Row next[n];
    for (int i = 0; i < n / 2; ++i) {
      detail::interleave<0>(next[2 * i], rows[i], rows[i + n / 2], order);
      detail::interleave<1>(next[2 * i + 1], rows[i], rows[i + n / 2], order);
    }
    for (int i = 0; i < n; ++i) rows[i] = next[i];
  }
}

template <class T>
FLAMBEAU_INLINE void load(typename RowOf<T>::type& row, const T* from) {
  memcpy(&row, from, sizeof row);
}
template <class T>
FLAMBEAU_INLINE void store(T* to, const typename RowOf<T>::type& row) {
  memcpy(to, &row, sizeof row);
}

template <class T>
using OrderOfRow = std::make_integer_sequence<int, 64 / sizeof(T)>;

/// Complex numbers in memory, as many as a row has elements, as a row of each part, and back.
template <class T>
FLAMBEAU_INLINE void load_parts(typename RowOf<T>::type& re, typename RowOf<T>::type& im,
                                const T* from) {
  typename RowOf<T>::type a, b;
  load(a, from);
  load(b, from + 64 / sizeof(T));
  detail::every_other<0>(re, a, b, OrderOfRow<T>());
  detail::every_other<1>(im, a, b, OrderOfRow<T>());
}
template <class T>
FLAMBEAU_INLINE void store_parts(T* to, const typename RowOf<T>::type& re,
                                 const typename RowOf<T>::type& im) {
  typename RowOf<T>::type a, b;
  detail::interleave<0>(a, re, im, OrderOfRow<T>());
  detail::interleave<1>(b, re, im, OrderOfRow<T>());
  store(to, a);
  store(to + 64 / sizeof(T), b);
}

/// The last element becomes the first.
template <class T>
FLAMBEAU_INLINE void turn_round(typename RowOf<T>::type& row) {
  detail::turn_round(row, OrderOfRow<T>());
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
