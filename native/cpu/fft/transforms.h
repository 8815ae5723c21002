#pragma once

/// Transforms of many lines of numbers.

#include <algorithm>

#include "core/threads/parallel.h"
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

/// Element k of column j times e^(-2 pi i j k / n).
template <class T>
void turn(const Plan<T>& split, int64_t first, int64_t count, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t rows = split.of_columns->n, columns = split.of_rows->n;
  for (int64_t k = 0; k < rows; ++k) {
    const T* turns = split.turns.data() + 2 * (k * columns + first);
    T *re = tile.re + k * kWidth, *im = tile.im + k * kWidth;
    if (count == kWidth) {
      typename RowOf<T>::type a, b, c, d;
      load(a, re);
      load(b, im);
      load_parts(c, d, turns);
      store<T>(re, a * c - b * d);
      store<T>(im, a * d + b * c);
      continue;
    }
    for (int64_t v = 0; v < count; ++v) {
      const T a = re[v], b = im[v];
      re[v] = a * turns[2 * v] - b * turns[2 * v + 1];
      im[v] = a * turns[2 * v + 1] + b * turns[2 * v];
    }
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

template <class T>
void transform_tiles(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                     int64_t count, Task task, Kind<T> kind = {}) {
  constexpr int64_t kWidth = kLanes<T>;
  const bool in_pairs = kind.pairs != nullptr, reads_half = task.half == Half::read;
  const bool completes = task.half == Half::completed;
  const bool writes_half = task.half == Half::written, finds_half = writes_half || completes;
  const Cut<T> cut(in, out, count);
  const int64_t half = in_pairs ? plan.n + 1 : plan.n / 2 + 1;
  const int64_t given_size = reads_half ? half : plan.n;
  const int64_t whole = in_pairs ? 2 * plan.n : plan.n;
  const int64_t found_size = completes ? whole : writes_half ? half : plan.n;
  const T scale = static_cast<T>(in_pairs && finds_half ? 0.5 * task.scale : task.scale);
  const bool swaps = task.inverse && !completes;
  const int64_t grain = std::max<int64_t>(1, kGrain / (8 * plan.n * kWidth));
  // Lines whose numbers are all given, or found, are read by the first pass and written by the
  // last.
  const bool may_read = !reads_half && reads_groups(plan);
  const bool may_write = !finds_half && kind.split == nullptr && writes_groups(plan);
  parallel_for(0, cut.tiles(), grain, [&](int64_t begin, int64_t end) {
    Tile<T> tile(completes ? whole : plan.n + in_pairs);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = cut.first(t), size = cut.size(t);
      const bool reads = may_read && are_dense(in, first, size);
      const bool writes = may_write && are_dense(out, first, size);
      if (reads)
        read_by_first_pass(plan, GroupsOfLines<const T>(in, first, size), swaps, tile.lines());
      else
        gather_any(in, first, size, given_size, swapped_if(swaps, tile.lines()));
      if (reads_half && in_pairs) {
        tile.step([&](Parts<const T> from, Parts<T> to) {
          join_pairs_of_lines(*kind.pairs, swapped_if(swaps, from), swapped_if(swaps, to));
        });
      } else if (reads_half) {
        mirror(plan.n, swapped_if(swaps, tile.lines()));
      }
      tile.transform(plan, reads, plan.passes.size() - writes);
      if (writes) {
        const Parts<T> last = tile.lines();
        write_by_last_pass(plan, {last.re, last.im}, swaps, scale,
                           GroupsOfLines<T>(out, first, size));
        continue;
      }
      if (kind.split != nullptr) turn(*kind.split, first, size, tile.lines());
      if (finds_half && in_pairs) {
        tile.step([&](Parts<const T> z, Parts<T> to) { split_pairs_of_lines(*kind.pairs, z, to); });
      }
      if (completes) complete(whole, task.inverse, tile.lines());
      const Parts<T> found = swapped_if(swaps, tile.lines());
      scatter_any<T>(out, first, size, found_size, {found.re, found.im}, scale);
    }
  });
}

/// Whether lines are transformed side by side, each as a whole.
template <class T>
bool is_tiled(const Plan<T>& plan, int64_t count) {
  using namespace ::flambeau::cpu::fft;
  const bool is_long = plan.n > kLongAlone;
  const bool are_few = plan.n >= 256 && count <= (is_long ? 8 * kLanes<T> : kLanes<T> / 4);
  // A split into matrices narrower than a tile is no better than a tile that leaves the cache.
  const bool is_narrow = plan.has_split() && plan.of_columns->n < kLanes<T>;
  const bool are_long = plan.n > longest_tile() && !(is_narrow && !plan.passes.empty());
  return !plan.is_convolution() && !(plan.has_split() && (are_few || are_long));
}

/// One long line as a matrix: its columns into `work`, whose rows become the result's columns.
template <class T>
void transform_split(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                     int64_t line, Task task) {
  const int64_t rows = plan.of_columns->n, columns = plan.of_rows->n;
  T* work = scratch<T>(2, static_cast<size_t>(2 * plan.n));
  const Lines<const T> from{in.line(line), {{columns}, {in.step}}, columns * in.step, in.imag};
  const Lines<T> between = lines_apart(work, 2, 2 * columns);
  transform_tiles<T>(*plan.of_columns, from, between, columns, {task.inverse, 1}, {&plan});
  const Lines<T> to{out.line(line), {{rows}, {out.step}}, rows * out.step, out.imag};
  const Lines<T> rows_of_work = lines_apart(work, 2 * columns);
  transform_tiles<T>(*plan.of_rows, rows_of_work.read(), to, rows, task);
}

template <class T>
void transform_convolved(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                         int64_t count, Task task);

/// Each of `count` lines, which may be transformed in place: from one place to the same.
template <class T>
void transform(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out, int64_t count,
               Task task) {
  if (plan.is_convolution()) return transform_convolved(plan, in, out, count, task);
  if (is_tiled(plan, count)) return transform_tiles(plan, in, out, count, task);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) transform_split(plan, in, out, line, task);
  };
  // Few lines leave the threads to the parts of each.
  if (count < num_threads()) return run(0, count);
  parallel_for(0, count, std::max<int64_t>(1, kGrain / (16 * plan.n)), run);
}

/// Calls body(first, count, memory) for groups of lines, each of which gets memory of `size` real
/// numbers per line; on several threads where there are many.
template <class T, class Body>
void for_groups(int slot, int64_t lines, int64_t size, const Body& body) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t groups = (lines + kWidth - 1) / kWidth;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t count = std::min(kWidth, lines - g * kWidth);
      body(g * kWidth, count, scratch<T>(slot, static_cast<size_t>(count * size)));
    }
  };
  // Few groups leave the threads to what each of them does.
  if (groups < num_threads()) return run(0, groups);
  parallel_for(0, groups, std::max<int64_t>(1, kGrain / (8 * size * kWidth)), run);
}

/// Bluestein's: jk = (j^2 + k^2 - (k - j)^2) / 2 makes a convolution of a transform.
template <class T>
void transform_convolved(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                         int64_t count, Task task) {
  const int64_t n = plan.n, length = plan.padded->n;
  const T* chirp = plan.chirp.data();
  const T sign = task.inverse ? T(-1) : T(1), scale = static_cast<T>(task.scale);
  for_groups<T>(3, count, 2 * length, [&](int64_t first, int64_t size, T* memory) {
    for (int64_t v = 0; v < size; ++v) {
      const T* from = in.line(first + v);
      T* to = memory + 2 * v * length;
      for (int64_t j = 0; j < n; ++j) {
        const T a = from[j * in.step];
        const T b = in.has_imaginary() ? sign * from[j * in.step + in.imag] : T(0);
        to[2 * j] = a * chirp[2 * j] - b * chirp[2 * j + 1];
        to[2 * j + 1] = a * chirp[2 * j + 1] + b * chirp[2 * j];
      }
      std::fill(to + 2 * n, to + 2 * length, T(0));
    }
    const Lines<T> padded = lines_apart(memory, 2 * length);
    transform<T>(*plan.padded, padded.read(), padded, size, {false, 1});
    for (int64_t v = 0; v < size; ++v) {
      T* x = memory + 2 * v * length;
      const T* filter = plan.filter.data();
      for (int64_t j = 0; j < length; ++j) {
        const T a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * filter[2 * j] - b * filter[2 * j + 1];
        x[2 * j + 1] = a * filter[2 * j + 1] + b * filter[2 * j];
      }
    }
    transform<T>(*plan.padded, padded.read(), padded, size, {true, 1});
    for (int64_t v = 0; v < size; ++v) {
      const T* x = memory + 2 * v * length;
      T* to = out.line(first + v);
      for (int64_t k = 0; k < n; ++k) {
        const T a = x[2 * k], b = x[2 * k + 1];
        to[k * out.step] = scale * (a * chirp[2 * k] - b * chirp[2 * k + 1]);
        if (!out.has_imaginary()) continue;
        to[k * out.step + out.imag] = sign * scale * (a * chirp[2 * k + 1] + b * chirp[2 * k]);
      }
    }
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
