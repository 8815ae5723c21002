#pragma once

/// Transposition of the square that kLanes lines make of 64 bytes of each, and of short lines.

#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/macros.h"
#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// 64 bytes of T.
template <class T>
struct RowOf {
  typedef T type __attribute__((vector_size(64)));
};

namespace detail {

/// A row of n elements as two halves. Compilers move the elements of what is wider than a register
/// one by one.
template <class Row, int n>
struct Halves {
  typedef std::remove_cvref_t<decltype(Row{}[0])> Element;
  typedef Element Half __attribute__((vector_size(sizeof(Row) / 2)));
  static constexpr bool kAreNeeded = sizeof(Row) > kVectorBytes;
  static constexpr auto order = std::make_integer_sequence<int, n / 2>();
  Half half[2];

  explicit Halves(const Row& row) { memcpy(half, &row, sizeof row); }
  Halves() = default;
  FLAMBEAU_INLINE void give(Row& row) const { memcpy(&row, half, sizeof row); }
};

/// The first or the second halves of two rows, or of each group of their elements, in turns.
template <int second, int group, class Row, int... i>
FLAMBEAU_INLINE void interleave(Row& to, const Row& a, const Row& b,
                                std::integer_sequence<int, i...>) {
  constexpr int n = static_cast<int>(sizeof...(i));
  if constexpr (Halves<Row, n>::kAreNeeded && group == n) {
    const Halves<Row, n> one(a), other(b);
    Halves<Row, n> found;
    interleave<0, n / 2>(found.half[0], one.half[second], other.half[second], found.order);
    interleave<1, n / 2>(found.half[1], one.half[second], other.half[second], found.order);
    found.give(to);
  } else {
    to = __builtin_shufflevector(
        a, b, (i / group * group + second * group / 2 + i % group / 2 + i % 2 * n)...);
  }
}

/// Every other one of the elements of two rows, or of units of some elements.
template <int first, int unit, class Row, int... i>
FLAMBEAU_INLINE void every_other(Row& to, const Row& a, const Row& b,
                                 std::integer_sequence<int, i...>) {
  constexpr int n = static_cast<int>(sizeof...(i));
  if constexpr (Halves<Row, n>::kAreNeeded) {
    const Halves<Row, n> one(a), other(b);
    Halves<Row, n> found;
    every_other<first, unit>(found.half[0], one.half[0], one.half[1], found.order);
    every_other<first, unit>(found.half[1], other.half[0], other.half[1], found.order);
    found.give(to);
  } else {
    to = __builtin_shufflevector(a, b, ((first + i / unit * 2) * unit + i % unit)...);
  }
}
/// Two halves of a row.
template <class Row, class Half, int... i>
FLAMBEAU_INLINE void join(Row& to, const Half& a, const Half& b, std::integer_sequence<int, i...>) {
  to = __builtin_shufflevector(a, b, i...);
}
/// The elements of a row from the last to the first.
template <class Row, int... i>
FLAMBEAU_INLINE void turn_round(Row& row, std::integer_sequence<int, i...>) {
  constexpr int last = static_cast<int>(sizeof...(i)) - 1;
  if constexpr (Halves<Row, last + 1>::kAreNeeded) {
    const Halves<Row, last + 1> given(row);
    Halves<Row, last + 1> found;
    for (int half = 0; half < 2; ++half) {
      found.half[half] = given.half[1 - half];
      turn_round(found.half[half], found.order);
    }
    found.give(row);
  } else {
    row = __builtin_shufflevector(row, row, (last - i)...);
  }
}

}  // namespace detail

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

/// Elements of 16 bytes, within which processors move elements fast.
template <class T>
inline constexpr int kLaneOfRow = 16 / sizeof(T);

/// What is done while rows become columns: `scaled` writes to lines of memory, `plain` reads them.
enum class Copy { plain, scaled };

#if defined(__AVX512F__)

/// Rows become columns: elements move within lanes, then lanes as wholes.
template <class T>
FLAMBEAU_INLINE void transpose(typename RowOf<T>::type (&rows)[64 / sizeof(T)]) {
  constexpr int n = 64 / sizeof(T), lane = kLaneOfRow<T>;
  constexpr auto order = OrderOfRow<T>();
  typename RowOf<T>::type work[n];
  const auto place = [](int i) { return i % lane * (n / lane) + i / lane; };
  for (int i = 0; i < n; ++i) work[place(i)] = rows[i];
  for (int round = 1; round < lane; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      detail::interleave<0, lane>(rows[2 * i], work[i], work[i + n / 2], order);
      detail::interleave<1, lane>(rows[2 * i + 1], work[i], work[i + n / 2], order);
    }
    for (int i = 0; i < n; ++i) work[i] = rows[i];
  }
  for (int i = 0; i < n; ++i) rows[place(i)] = work[i];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < n; ++i) work[i] = rows[i];
    for (int i = 0; i < n / 2; ++i) {
      detail::every_other<0, lane>(rows[i], work[2 * i], work[2 * i + 1], order);
      detail::every_other<1, lane>(rows[i + n / 2], work[2 * i], work[2 * i + 1], order);
    }
  }
}

template <Copy copy, class T, class From, class To>
FLAMBEAU_INLINE void transpose(const From& from, const To& to, T scale) {
  constexpr int n = 64 / sizeof(T);
  typename RowOf<T>::type rows[n];
  for (int i = 0; i < n; ++i) load(rows[i], from(i));
  transpose<T>(rows);
  for (int i = 0; i < n; ++i) {
    if constexpr (copy == Copy::scaled) rows[i] *= scale;
    store(to(i), rows[i]);
  }
}

#else

/// Rows become columns in squares of as many rows as a lane has elements, as many at once as a
/// register has lanes, from memory to memory: registers do not hold them all.
template <Copy copy, class T, class From, class To>
FLAMBEAU_INLINE void transpose(const From& from, const To& to, T scale) {
  constexpr int n = 64 / sizeof(T), lane = kLaneOfRow<T>;
#if defined(__AVX2__)
  constexpr int squares = 2;
#else
  constexpr int squares = 1;
#endif
  constexpr int width = squares * lane;
  typedef T Lane __attribute__((vector_size(16)));
  typedef T Piece __attribute__((vector_size(16 * squares)));
  constexpr auto order = std::make_integer_sequence<int, width>();
  const auto move = [&](int g, int l) __attribute__((always_inline)) {
    Piece piece[lane], next[lane];
#pragma GCC unroll 4
    for (int i = 0; i < lane; ++i) {
      Lane part[squares];
      for (int p = 0; p < squares; ++p)
        memcpy(&part[p], from(g * width + p * lane + i) + l * lane, sizeof(Lane));
      if constexpr (squares == 1)
        piece[i] = part[0];
      else
        detail::join(piece[i], part[0], part[1], order);
    }
#pragma GCC unroll 2
    for (int round = 1; round < lane; round *= 2) {
#pragma GCC unroll 2
      for (int i = 0; i < lane / 2; ++i) {
        detail::interleave<0, lane>(next[2 * i], piece[i], piece[i + lane / 2], order);
        detail::interleave<1, lane>(next[2 * i + 1], piece[i], piece[i + lane / 2], order);
      }
#pragma GCC unroll 4
      for (int i = 0; i < lane; ++i) piece[i] = next[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < lane; ++i) {
      if constexpr (copy == Copy::scaled) piece[i] *= scale;
      memcpy(to(l * lane + i) + g * width, &piece[i], sizeof(Piece));
    }
  };
  // Lines of memory are read, or written, as wholes: many that lie a power of two apart share few
  // places in the cache.
  for (int outer = 0; outer < (copy == Copy::scaled ? n / lane : n / width); ++outer)
    for (int inner = 0; inner < (copy == Copy::scaled ? n / width : n / lane); ++inner)
      copy == Copy::scaled ? move(inner, outer) : move(outer, inner);
}

#endif

/// 64 bytes of T in registers as wide as there are.
template <class T>
struct Pieces {
  static constexpr int kCount = 64 / kVectorBytes, kNumbers = kVectorBytes / sizeof(T);
  typedef T Piece __attribute__((vector_size(kVectorBytes)));
  static constexpr auto order = std::make_integer_sequence<int, kNumbers>();
  Piece piece[kCount];

  FLAMBEAU_INLINE void load(const T* from) { memcpy(piece, from, sizeof piece); }
  FLAMBEAU_INLINE void store(T* to) const { memcpy(to, piece, sizeof piece); }
  FLAMBEAU_INLINE void store(T* to, T scale) const {
    for (int r = 0; r < kCount; ++r) {
      const Piece scaled = piece[r] * scale;
      memcpy(to + r * kNumbers, &scaled, sizeof scaled);
    }
  }
};

/// As many numbers of each of n lines, all in a row of memory, become rows of a number each, and
/// back.
template <class T, int count>
FLAMBEAU_INLINE void part_lines(Pieces<T> (&rows)[count]) {
  constexpr int n = Pieces<T>::kCount;
  Pieces<T> next[count];
#pragma GCC unroll 4
  for (int round = 1; round < count; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
#pragma GCC unroll 8
      for (int r = 0; r < 2 * n; r += 2) {
        const Pieces<T>& given = rows[2 * i + r / n];
        const Pieces<T>& other = rows[2 * i + (r + 1) / n];
        detail::every_other<0, 1>(next[i].piece[r / 2], given.piece[r % n],
                                  other.piece[(r + 1) % n], Pieces<T>::order);
        detail::every_other<1, 1>(next[i + count / 2].piece[r / 2], given.piece[r % n],
                                  other.piece[(r + 1) % n], Pieces<T>::order);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) rows[i] = next[i];
  }
}
template <class T, int count>
FLAMBEAU_INLINE void join_lines(Pieces<T> (&rows)[count]) {
  constexpr int n = Pieces<T>::kCount, numbers = Pieces<T>::kNumbers;
  Pieces<T> next[count];
#pragma GCC unroll 4
  for (int round = 1; round < count; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < n; ++r) {
        const auto &a = rows[i].piece[r], &b = rows[i + count / 2].piece[r];
        const int low = 2 * r, high = 2 * r + 1;
        detail::interleave<0, numbers>(next[2 * i + low / n].piece[low % n], a, b,
                                       Pieces<T>::order);
        detail::interleave<1, numbers>(next[2 * i + high / n].piece[high % n], a, b,
                                       Pieces<T>::order);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) rows[i] = next[i];
  }
}

/// Complex numbers in memory, as many as a row has elements, as a row of each part, and back.
template <class T>
FLAMBEAU_INLINE void load_parts(typename RowOf<T>::type& re, typename RowOf<T>::type& im,
                                const T* from) {
  typename RowOf<T>::type a, b;
  load(a, from);
  load(b, from + 64 / sizeof(T));
  detail::every_other<0, 1>(re, a, b, OrderOfRow<T>());
  detail::every_other<1, 1>(im, a, b, OrderOfRow<T>());
}
template <class T>
FLAMBEAU_INLINE void store_parts(T* to, const typename RowOf<T>::type& re,
                                 const typename RowOf<T>::type& im) {
  typename RowOf<T>::type a, b;
  detail::interleave<0, 64 / sizeof(T)>(a, re, im, OrderOfRow<T>());
  detail::interleave<1, 64 / sizeof(T)>(b, re, im, OrderOfRow<T>());
  store(to, a);
  store(to + 64 / sizeof(T), b);
}

/// The same from memory to memory, in registers as wide as there are: numbers as many as a row has
/// elements.
template <class T>
FLAMBEAU_INLINE void part_row(const T* from, T* re, T* im) {
  typedef T Piece __attribute__((vector_size(kVectorBytes)));
  constexpr int n = kVectorBytes / sizeof(T);
  constexpr auto order = std::make_integer_sequence<int, n>();
#pragma GCC unroll 4
  for (int i = 0; i < static_cast<int>(64 / sizeof(T)); i += n) {
    Piece a, b, first, second;
    memcpy(&a, from + 2 * i, sizeof a);
    memcpy(&b, from + 2 * i + n, sizeof b);
    detail::every_other<0, 1>(first, a, b, order);
    detail::every_other<1, 1>(second, a, b, order);
    memcpy(re + i, &first, sizeof first);
    memcpy(im + i, &second, sizeof second);
  }
}
template <class T>
FLAMBEAU_INLINE void join_row(T* to, const T* re, const T* im, T scale) {
  typedef T Piece __attribute__((vector_size(kVectorBytes)));
  constexpr int n = kVectorBytes / sizeof(T);
  constexpr auto order = std::make_integer_sequence<int, n>();
#pragma GCC unroll 4
  for (int i = 0; i < static_cast<int>(64 / sizeof(T)); i += n) {
    Piece a, b, first, second;
    memcpy(&a, re + i, sizeof a);
    memcpy(&b, im + i, sizeof b);
    a *= scale;
    b *= scale;
    detail::interleave<0, n>(first, a, b, order);
    detail::interleave<1, n>(second, a, b, order);
    memcpy(to + 2 * i, &first, sizeof first);
    memcpy(to + 2 * i + n, &second, sizeof second);
  }
}

/// The last element becomes the first.
template <class T>
FLAMBEAU_INLINE void turn_round(typename RowOf<T>::type& row) {
  detail::turn_round(row, OrderOfRow<T>());
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
