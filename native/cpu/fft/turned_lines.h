#pragma once

/// Lines of complex numbers that are columns of memory, as rows of a copy: a few side by side, as
/// many as share a cache line.

#include <cstring>

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
    const T* at[kTurned<T>];
    lines.find(first, count, at);
    int64_t k = 0;
    if constexpr (kSide > 1) {
      for (; are_columns(lines, first, count) && count == kTurned<T> && k + kSide <= n_; k += kSide)
        for (int64_t v = 0; v < count; v += kSide)
          transpose_block<Word, kVectorBytes>(words(row(v) + 2 * k), n_,
                                              words(at[v] + k * lines.step), lines.step / 2);
    }
    for (int64_t rest = k; rest < n_; ++rest)
      for (int64_t v = 0; v < count; ++v)
        memcpy(row(v) + 2 * rest, at[v] + rest * lines.step, 2 * sizeof(T));
  }
  void give(const Lines<T>& lines, int64_t first, int64_t count) const {
    T* at[kTurned<T>];
    lines.find(first, count, at);
    int64_t k = 0;
    if constexpr (kSide > 1) {
      for (; are_columns(lines, first, count) && count == kTurned<T> && k + kSide <= n_; k += kSide)
        for (int64_t v = 0; v < count; v += kSide)
          transpose_block<Word, kVectorBytes>(words(at[v] + k * lines.step), lines.step / 2,
                                              words(row(v) + 2 * k), n_);
    }
    for (int64_t rest = k; rest < n_; ++rest)
      for (int64_t v = 0; v < count; ++v)
        memcpy(at[v] + rest * lines.step, row(v) + 2 * rest, 2 * sizeof(T));
  }
  Lines<T> lines() const { return lines_apart(rows_, 2 * n_); }

 private:
  using Word = uint64_t;
  static constexpr int64_t kSide = sizeof(T) == 4 ? kBlock<Word, kVectorBytes> : 1;
  T* row(int64_t v) const { return rows_ + 2 * v * n_; }
  static Word* words(T* numbers) { return reinterpret_cast<Word*>(numbers); }
  static const Word* words(const T* numbers) { return reinterpret_cast<const Word*>(numbers); }

  int64_t n_;
  T* rows_;
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
