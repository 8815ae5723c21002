#pragma once

/// The transform of lines that fill a tile, from memory to memory.

#include <algorithm>

#include "cpu/fft/ends.h"
#include "cpu/fft/pairs.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// Lines of which one half says all, as the other is its conjugate: read from there, or written;
/// `completed`: found, and the whole written, or of an inverse transform its conjugate.
enum class Half : uint8_t { none, read, written, completed };

/// What is done to lines besides.
struct Task {
  bool inverse;  ///< as the transform of numbers whose parts are swapped
  double scale;
  Half half = Half::none;
};

/// The second half of a tile from the first one.
template <class T>
void mirror(int64_t n, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  for (int64_t k = n / 2 + 1; k < n; ++k) {
    const Parts<T> to = tile.at(k * kWidth), from = tile.at((n - k) * kWidth);
    for (int64_t v = 0; v < kWidth; ++v) {
      to.re[v] = from.re[v];
      to.im[v] = -from.im[v];
    }
  }
}

/// The second half of the transform of n real numbers, or all of the conjugate. Zeros of imaginary
/// parts are no -0.
template <class T>
void complete(int64_t n, bool conjugates, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  for (int64_t k = n / 2 + 1; k < n; ++k) {
    const Parts<T> to = tile.at(k * kWidth), from = tile.at((n - k) * kWidth);
    for (int64_t v = 0; v < kWidth; ++v) {
      to.re[v] = from.re[v];
      to.im[v] = conjugates ? from.im[v] : T(0) - from.im[v];
    }
  }
  for (int64_t i = 0; conjugates && i < (n / 2 + 1) * kWidth; ++i) tile.im[i] = T(0) - tile.im[i];
}

/// Element k of column j times e^(-2 pi i j k / n), of kLanes columns; of those behind the last
/// one, by anything.
template <class T>
void turn(const Plan<T>& split, int64_t first, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t rows = split.of_columns->n, columns = split.of_rows->n;
  for (int64_t k = 0; k < rows; ++k) {
    T *re = tile.re + k * kWidth, *im = tile.im + k * kWidth;
    typename RowOf<T>::type a, b, c, d;
    load(a, re);
    load(b, im);
    load_parts(c, d, split.turns.data() + 2 * (k * columns + first));
    store<T>(re, a * c - b * d);
    store<T>(im, a * d + b * c);
  }
}

/// What lines are besides: columns of a long line, which are turned after their transform; real
/// numbers in pairs, of which `Half` says whether they are read or written.
template <class T>
struct Kind {
  const Plan<T>* split = nullptr;
  const RealPlan<T>* pairs = nullptr;
};

template <class T>
void gather_any(const Lines<const T>& lines, int64_t first, int64_t count, int64_t n,
                Parts<T> tile) {
  if (are_columns(lines, first, count))
    return gather_columns(lines.line(first), lines.step, count, n, tile);
  if (gather_joined(lines, first, count, n, tile)) return;
  if (are_rows(lines)) return gather_rows(lines, first, count, n, tile);
  gather(lines, first, count, n, tile);
}
template <class T>
void scatter_any(const Lines<T>& lines, int64_t first, int64_t count, int64_t n,
                 Parts<const T> tile, T scale) {
  if (are_columns(lines, first, count))
    return scatter_columns<T>(lines.line(first), lines.step, count, n, tile, scale);
  if (are_rows(lines)) return scatter_rows<T>(lines, first, count, n, tile, scale);
  scatter<T>(lines, first, count, n, tile, scale);
}

/// From lines `in` to lines `out`, of each tile on its own.
template <class T>
class TileTransform {
 public:
  TileTransform(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out, Task task,
                Kind<T> kind)
      : plan_(plan), in_(in), out_(out), task_(task), kind_(kind) {}

  /// Elements of a line that a tile has room for.
  int64_t longest() const { return completes_ ? whole_ : plan_.n + in_pairs_; }

  /// Of lines [first, first + count). Those whose numbers are all given, or found, are read by the
  /// first pass and written by the last.
  void run(int64_t first, int64_t count, Tile<T>& tile) const {
    const bool reads = read(first, count, tile);
    if (!reads) begin(first, count, tile);
    const bool are_columns_found = may_write_columns_ && are_columns(out_, first, count);
    const bool writes = are_columns_found || (may_write_ && are_dense(out_, first, count));
    tile.transform(plan_, reads, plan_.passes.size() - writes);
    if (are_columns_found)
      write_columns(first, count, read_only(tile.lines()));
    else if (writes)
      write_by_last_pass(plan_, read_only(tile.lines()), swaps_, scale_,
                         GroupsOfLines<T>(out_, first, count));
    else
      finish(first, count, tile);
  }

 private:
  static Parts<const T> read_only(Parts<T> parts) { return {parts.re, parts.im}; }

  /// Whether the first pass reads lines where they lie, which it has then done.
  bool read(int64_t first, int64_t count, Tile<T>& tile) const {
    if (may_read_columns_ && are_columns(in_, first, count)) {
      const auto run =
          swaps_ ? read_columns_by_first_pass<T, true> : read_columns_by_first_pass<T, false>;
      run(plan_, in_.line(first), in_.step, count, tile.lines());
      return true;
    }
    if (!may_read_ || !are_dense(in_, first, count)) return false;
    read_by_first_pass(plan_, GroupsOfLines<const T>(in_, first, count), swaps_, tile.lines());
    return true;
  }
  void write_columns(int64_t first, int64_t count, Parts<const T> tile) const {
    const auto run =
        swaps_ ? write_columns_by_last_pass<T, true> : write_columns_by_last_pass<T, false>;
    run(plan_, tile, scale_, out_.line(first), out_.step, count);
  }

  /// What the passes are given.
  void begin(int64_t first, int64_t count, Tile<T>& tile) const {
    const int64_t given = reads_half_ ? half_ : plan_.n;
    gather_any(in_, first, count, given, swapped_if(swaps_, tile.lines()));
    if (reads_half_ && in_pairs_) {
      tile.step([&](Parts<const T> from, Parts<T> to) {
        join_pairs_of_lines(*kind_.pairs, swapped_if(swaps_, from), swapped_if(swaps_, to));
      });
    } else if (reads_half_) {
      mirror(plan_.n, swapped_if(swaps_, tile.lines()));
    }
  }

  /// What is made of what the passes found.
  void finish(int64_t first, int64_t count, Tile<T>& tile) const {
    if (kind_.split != nullptr) turn(*kind_.split, first, tile.lines());
    if (finds_half_ && in_pairs_) {
      tile.step([&](Parts<const T> z, Parts<T> to) { split_pairs_of_lines(*kind_.pairs, z, to); });
    }
    if (completes_) complete(whole_, task_.inverse, tile.lines());
    const int64_t found = completes_ ? whole_ : finds_half_ ? half_ : plan_.n;
    scatter_any<T>(out_, first, count, found, read_only(swapped_if(swaps_, tile.lines())), scale_);
  }

  const Plan<T>& plan_;
  const Lines<const T>& in_;
  const Lines<T>& out_;
  const Task task_;
  const Kind<T> kind_;
  const bool in_pairs_ = kind_.pairs != nullptr, reads_half_ = task_.half == Half::read;
  const bool completes_ = task_.half == Half::completed;
  const bool finds_half_ = task_.half == Half::written || completes_;
  const bool swaps_ = task_.inverse && !completes_;
  const bool may_write_any_ = !finds_half_ && kind_.split == nullptr;
  const bool may_read_columns_ = !reads_half_ && reads_columns(plan_);
  const bool may_write_columns_ = may_write_any_ && writes_columns(plan_);
  const bool may_read_ = !reads_half_ && reads_groups(plan_);
  const bool may_write_ = may_write_any_ && writes_groups(plan_);
  const int64_t half_ = in_pairs_ ? plan_.n + 1 : plan_.n / 2 + 1;
  const int64_t whole_ = in_pairs_ ? 2 * plan_.n : plan_.n;
  const T scale_ = static_cast<T>(in_pairs_ && finds_half_ ? 0.5 * task_.scale : task_.scale);
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
