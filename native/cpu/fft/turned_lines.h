#pragma once

/// Lines of complex numbers that are columns of memory, as rows of a copy: a few side by side, as
/// many as share a cache line.

#include <cstring>
#include <type_traits>

#include "cpu/fft/ends.h"
#include "cpu/transpose.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// Complex numbers of a cache line.
template <class T>
inline constexpr int64_t kTurned = 32 / static_cast<int64_t>(sizeof(T));

template <class T>
class TurnedLines {
 public:
  /// Memory for kTurned lines of n complex numbers.
  TurnedLines(int64_t n, T* rows) : n_(n), rows_(rows) {}

  void take(const Lines<const T>& lines, int64_t first, int64_t count) const {
    move(lines, first, count, [](const T* line, int64_t step, T* row, int64_t apart, auto size) {
      copy<size>(row, apart, line, step);
    });
  }
  void give(const Lines<T>& lines, int64_t first, int64_t count) const {
    move(lines, first, count, [](T* line, int64_t step, const T* row, int64_t apart, auto size) {
      copy<size>(line, step, row, apart);
    });
  }
  Lines<T> lines() const { return lines_apart(rows_, 2 * n_); }

 private:
  using Word = uint64_t;
  static constexpr int64_t kSide = sizeof(T) == 4 ? kBlock<Word, kVectorBytes> : 1;
  template <int64_t size>
  using Size = std::integral_constant<int64_t, size>;

  /// Calls body(numbers of lines, distance of theirs, the same of rows, size) for squares of so
  /// many complex numbers, or for single ones; distances in complex numbers.
  template <class U, class Body>
  void move(const Lines<U>& lines, int64_t first, int64_t count, const Body& body) const {
    U* at[kTurned<T>];
    lines.find(first, count, at);
    const int64_t step = lines.step / 2;
    const bool are_squares = kSide > 1 && count == kTurned<T> && are_columns(lines, first, count);
    const int64_t whole = are_squares ? n_ / kSide * kSide : 0;
    for (int64_t k = 0; k < whole; k += kSide)
      for (int64_t v = 0; v < count; v += kSide)
        body(at[v] + 2 * k * step, step, row(v) + 2 * k, n_, Size<kSide>());
    for (int64_t k = whole; k < n_; ++k)
      for (int64_t v = 0; v < count; ++v)
        body(at[v] + 2 * k * step, step, row(v) + 2 * k, n_, Size<1>());
  }
  template <int64_t size>
  static void copy(T* to, int64_t to_step, const T* from, int64_t from_step) {
    if constexpr (size == 1)
      memcpy(to, from, 2 * sizeof(T));
    else
      transpose_block<Word, kVectorBytes>(reinterpret_cast<Word*>(to), to_step,
                                          reinterpret_cast<const Word*>(from), from_step);
  }
  T* row(int64_t v) const { return rows_ + 2 * v * n_; }

  int64_t n_;
  T* rows_;
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
