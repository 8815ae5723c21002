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

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
