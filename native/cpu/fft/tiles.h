#pragma once

/// Lines from memory into tiles, side by side, and back.

#include <algorithm>
#include <cstring>

#include "cpu/fft/lines.h"
#include "cpu/fft/passes.h"
#include "cpu/fft/square.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// Lines [first, first + count) into a tile; what is left of it becomes 0.
template <class T>
void gather(const Lines<const T>& lines, int64_t first, int64_t count, int64_t n, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>, kRun = 16;
  const T* from[kWidth];
  lines.find(first, count, from);
  std::fill(from + count, from + kWidth, from[count - 1]);
  const bool is_real = !lines.has_imaginary();
  const int64_t step = lines.step, imag = is_real ? 0 : lines.imag;
  // Runs of a line, so that what one fetch brings is used before it leaves.
  for (int64_t start = 0; start < n; start += kRun) {
    const int64_t end = std::min(n, start + kRun);
    for (int64_t v = 0; v < kWidth; ++v) {
      for (int64_t k = start; k < end; ++k) {
        tile.re[k * kWidth + v] = from[v][k * step];
        tile.im[k * kWidth + v] = is_real ? T(0) : from[v][k * step + imag];
      }
    }
  }
}

template <class T>
void scatter(const Lines<T>& lines, int64_t first, int64_t count, int64_t n, Parts<const T> tile,
             T scale) {
  constexpr int64_t kWidth = kLanes<T>, kRun = 16;
  T* to[kWidth];
  lines.find(first, count, to);
  const bool is_real = !lines.has_imaginary();
  const int64_t step = lines.step, imag = is_real ? 0 : lines.imag;
  for (int64_t start = 0; start < n; start += kRun) {
    const int64_t end = std::min(n, start + kRun);
    for (int64_t v = 0; v < count; ++v) {
      for (int64_t k = start; k < end; ++k) {
        to[v][k * step] = tile.re[k * kWidth + v] * scale;
        if (!is_real) to[v][k * step + imag] = tile.im[k * kWidth + v] * scale;
      }
    }
  }
}

/// Complex numbers of a row.
template <class T>
inline constexpr int64_t kNumbers = kLanes<T> / 2;

/// Whether lines of `length` real numbers each lie one right behind the other.
template <class T>
bool are_joined(T* const* lines, int64_t count, int64_t length) {
  for (int64_t v = 1; v < count; ++v) {
    if (lines[v] - lines[v - 1] != length) return false;
  }
  return true;
}

/// The first of joined lines, shorter than a row, of which a row would reach behind the last one.
template <class T>
int64_t first_outside(int64_t count, int64_t length) {
  return std::max<int64_t>(0, count - (kLanes<T> - 1) / length);
}

/// Whether what a line has behind whole rows is worth one more, which overlaps the last of them.
template <class T>
bool is_worth_row(int64_t n) {
  return n > kNumbers<T> && n % kNumbers<T> > kNumbers<T> / 4;
}

/// Numbers [k, k + count) of lines, of which a whole row is read, to the beginning of a tile.
template <class T>
FLAMBEAU_INLINE void gather_square(const T* const* from, int64_t k, int64_t count, Parts<T> tile) {
  alignas(64) T none[kLanes<T>];
  transpose<Copy::plain, T>([&](int v) { return from[v] + 2 * k; },
                            [&](int i) {
                              T* const part = i % 2 == 0 ? tile.re : tile.im;
                              return i / 2 < count ? part + i / 2 * kLanes<T> : none;
                            },
                            T(1));
}

/// Asks for a part, that of number k, of the lines that follow on these where no gaps are between
/// them: a tile's lines are read side by side, a few numbers of each, which processors do not
/// foresee. In order of memory, as they go on with that by themselves.
template <bool written, class T>
FLAMBEAU_INLINE void ask_for_next(T* const* lines, int64_t count, int64_t k, int64_t n) {
  constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t apart = count > 1 ? lines[1] - lines[0] : 0;
  if (apart < 2 * n || apart > 2 * n + line) return;
  T* const next = lines[0] + apart * count + k / kNumbers<T> * count * line;
  for (int64_t v = 0; v < count; ++v) __builtin_prefetch(next + v * line, written, 2);
}

/// The same of lines of complex numbers without gaps. Of short ones the last are read from a copy,
/// which ends some numbers behind them.
template <class T>
void gather_rows(const Lines<const T>& lines, int64_t first, int64_t count, int64_t n,
                 Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const T* from[kWidth];
  lines.find(first, count, from);
  std::fill(from + count, from + kWidth, from[count - 1]);
  int64_t k = 0;
  const auto gather_from = [&](int64_t number) {
    gather_square(from, number, kNumbers<T>, tile.at(number * kWidth));
  };
  for (; k + kNumbers<T> <= n; k += kNumbers<T>) {
    ask_for_next<false>(from, count, k, n);
    gather_from(k);
  }
  if (is_worth_row<T>(n)) return gather_from(n - kNumbers<T>);
  if (n < kNumbers<T> && are_joined(from, count, 2 * n)) {
    alignas(64) T block[2 * kWidth] = {};
    const int64_t last = first_outside<T>(count, 2 * n);
    memcpy(block, from[last], static_cast<size_t>(2 * n * (count - last)) * sizeof(T));
    for (int64_t v = last; v < kWidth; ++v)
      from[v] = block + 2 * n * (std::min(v, count - 1) - last);
    return gather_square(from, 0, n, tile);
  }
  for (; k < n; ++k) {
    for (int64_t v = 0; v < kWidth; ++v) {
      tile.re[k * kWidth + v] = from[v][2 * k];
      tile.im[k * kWidth + v] = from[v][2 * k + 1];
    }
  }
}

/// The way back, from the beginning of a tile: numbers [k, k + kNumbers) of lines.
template <class T>
FLAMBEAU_INLINE void scatter_square(T* const* to, int64_t count, int64_t k, Parts<const T> tile,
                                    T scale) {
  alignas(64) T none[kLanes<T>];
  transpose<Copy::scaled, T>(
      [&](int i) { return (i % 2 == 0 ? tile.re : tile.im) + i / 2 * kLanes<T>; },
      [&](int v) { return v < count ? to[v] + 2 * k : none; }, scale);
}

/// Fewer numbers of lines, from k on: half as many as kNumbers, a quarter and so on, as far as
/// `left` has them.
template <class T, int64_t n = kNumbers<T> / 2>
FLAMBEAU_INLINE void scatter_rest(T* const* to, int64_t count, int64_t k, int64_t left,
                                  Parts<const T> tile, T scale) {
  if constexpr (n > 0) {
    if (left & n) {
      Pieces<T> rows[2 * n];
      for (int64_t i = 0; i < n; ++i) {
        rows[2 * i].load(tile.re + (k + i) * kLanes<T>);
        rows[2 * i + 1].load(tile.im + (k + i) * kLanes<T>);
      }
      join_lines<T, 2 * n>(rows);
      alignas(64) T block[2 * n * kLanes<T>];
      for (int64_t i = 0; i < 2 * n; ++i) rows[i].store(block + i * kLanes<T>, scale);
      for (int64_t v = 0; v < count; ++v)
        memcpy(to[v] + 2 * k, block + 2 * n * v, 2 * n * sizeof(T));
      k += n;
    }
    scatter_rest<T, n / 2>(to, count, k, left, tile, scale);
  }
}

template <class T>
void scatter_rows(const Lines<T>& lines, int64_t first, int64_t count, int64_t n,
                  Parts<const T> tile, T scale) {
  T* to[kLanes<T>];
  lines.find(first, count, to);
  int64_t k = 0;
  for (; k + kNumbers<T> <= n; k += kNumbers<T>) {
    ask_for_next<true>(to, count, k, n);
    scatter_square(to, count, k, tile.at(k * kLanes<T>), scale);
  }
  scatter_rest(to, count, k, n - k, tile, scale);
}

/// Whether kLanes lines of a power of two of complex numbers, fewer than kNumbers, lie one right
/// behind the other.
template <class T>
bool are_short_rows(const Lines<T>& lines, int64_t first, int64_t count, int64_t n) {
  const Grid& grid = lines.grid;
  return n < kNumbers<T> && (n & (n - 1)) == 0 && count == kLanes<T> && lines.imag == 1 &&
         lines.step == 2 && !grid.sizes.empty() && grid.steps[grid.sizes.size() - 1] == 2 * n &&
         grid.left_of_row(lines.start + first) >= count;
}

/// All of such lines at once; false where the lines are others.
template <class T, int n = 1>
bool gather_joined(const Lines<const T>& lines, int64_t first, int64_t count, int64_t length,
                   Parts<T> tile) {
  if constexpr (n < kNumbers<T>) {
    if (length != n || !are_short_rows(lines, first, count, length))
      return length > n && gather_joined<T, 2 * n>(lines, first, count, length, tile);
    const T* const from = lines.line(first);
    Pieces<T> rows[2 * n];
    for (int i = 0; i < 2 * n; ++i) rows[i].load(from + i * kLanes<T>);
    part_lines<T, 2 * n>(rows);
    for (int i = 0; i < n; ++i) {
      rows[2 * i].store(tile.re + i * kLanes<T>);
      rows[2 * i + 1].store(tile.im + i * kLanes<T>);
    }
    return true;
  }
  return false;
}
/// The numbers of up to kLanes neighbours in a place of memory, and of none behind them.
template <class T>
class Neighbours {
 public:
  explicit Neighbours(int64_t count) {
    for (int i = 0; i < kPieces; ++i)
      counts_[i] = std::clamp<int64_t>(2 * count - i * kVector<T>, 0, kVector<T>);
  }
  void load(const T* from, T* block) const {
    for (int i = 0; i < kPieces; ++i)
      FLAMBEAU_ISA::store(block + i * kVector<T>, Mask<T>(counts_[i]).load(from + i * kVector<T>));
  }
  void store(T* to, const T* block) const {
    for (int i = 0; i < kPieces; ++i)
      Mask<T>(counts_[i]).store(to + i * kVector<T>, FLAMBEAU_ISA::load(block + i * kVector<T>));
  }

 private:
  static constexpr int kPieces = static_cast<int>(2 * kLanes<T> / kVector<T>);
  int64_t counts_[kPieces];
};

/// Numbers [0, n) of lines that lie side by side, `step` apart, to a tile. What the next lines have
/// is asked for meanwhile, as it lies in steps that processors do not foresee.
template <class T>
void gather_columns(const T* from, int64_t step, int64_t count, int64_t n, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const Neighbours<T> neighbours(count);
  alignas(64) T block[2 * kWidth];
  for (int64_t k = 0; k < n; ++k) {
    const T* row = from + k * step;
    if (count == kWidth) {
      __builtin_prefetch(row + 2 * kWidth);
      __builtin_prefetch(row + 3 * kWidth);
    } else {
      neighbours.load(row, block);
      row = block;
    }
    part_row(row, tile.re + k * kWidth, tile.im + k * kWidth);
  }
}
template <class T>
void scatter_columns(T* to, int64_t step, int64_t count, int64_t n, Parts<const T> tile, T scale) {
  constexpr int64_t kWidth = kLanes<T>;
  const Neighbours<T> neighbours(count);
  alignas(64) T block[2 * kWidth];
  for (int64_t k = 0; k < n; ++k) {
    T* const row = to + k * step;
    join_row(count == kWidth ? row : block, tile.re + k * kWidth, tile.im + k * kWidth, scale);
    if (count < kWidth) neighbours.store(row, block);
  }
}

/// Whether lines [first, first + count) are complex numbers that lie side by side.
template <class T>
bool are_columns(const Lines<T>& lines, int64_t first, int64_t count) {
  const Grid& grid = lines.grid;
  if (lines.imag != 1 || grid.sizes.empty()) return false;
  const size_t last = grid.sizes.size() - 1;
  const bool fits = last == 0 || grid.left_of_row(lines.start + first) >= count;
  return fits && grid.steps[last] == 2;
}

/// The lines in tiles, none of which reaches from one row of neighbours into the next where rows
/// fill some tiles.
template <class T>
struct Cut {
  int64_t lines, row, tiles_of_row;
  Cut(const Lines<const T>& in, const Lines<T>& out, int64_t count) : lines(count), row(count) {
    const Grid& grid = in.grid;
    const size_t last = grid.sizes.size() - 1;
    if (!grid.sizes.empty() && in.start == 0 && out.start == 0 && grid.steps[last] == 2 &&
        grid.sizes[last] >= 4 * kLanes<T> && out.grid.sizes.size() == grid.sizes.size() &&
        out.grid.sizes[last] == grid.sizes[last] && count % grid.sizes[last] == 0)
      row = grid.sizes[last];
    tiles_of_row = (row + kLanes<T> - 1) / kLanes<T>;
  }
  int64_t tiles() const { return lines / row * tiles_of_row; }
  int64_t first(int64_t tile) const {
    return tile / tiles_of_row * row + tile % tiles_of_row * kLanes<T>;
  }
  int64_t size(int64_t tile) const {
    return std::min(kLanes<T>, row - tile % tiles_of_row * kLanes<T>);
  }
};

template <class T>
bool are_rows(const Lines<T>& lines) {
  return lines.imag == 1 && lines.step == 2;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
