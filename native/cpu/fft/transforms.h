#pragma once

/// Transforms of many lines of numbers.

#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/fft/tile_transform.h"
#include "cpu/fft/turned_lines.h"
#include "cpu/fft/whole_lines.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

template <class T>
void transform_tiles(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                     int64_t count, Task task, Kind<T> kind = {}) {
  const Cut<T> cut(in, out, count);
  const TileTransform<T> transform(plan, in, out, task, kind);
  const int64_t grain = std::max<int64_t>(1, kGrain / (8 * plan.n * kLanes<T>));
  parallel_for(0, cut.tiles(), grain, [&](int64_t begin, int64_t end) {
    Tile<T> tile(transform.longest());
    for (int64_t t = begin; t < end; ++t) transform.run(cut.first(t), cut.size(t), tile);
  });
}

/// Whether lines are transformed side by side, each as a whole.
template <class T>
bool is_tiled(const Plan<T>& plan, int64_t count) {
  using namespace ::flambeau::cpu::fft;
  const bool is_long = plan.n > kLongAlone;
  const bool are_few = plan.n >= 256 && count <= (is_long ? 8 * kLanes<T> : kLanes<T> / 4);
  // A split into matrices narrower than a tile is no better than a tile that leaves the cache, nor,
  // of lines that are not much longer, is one that does not fill tiles.
  const bool is_narrow = plan.has_split() && plan.of_columns->n < kLanes<T>;
  const bool fills =
      plan.has_split() && plan.of_columns->n % kLanes<T> == 0 && plan.of_rows->n % kLanes<T> == 0;
  const bool are_long =
      plan.n > longest_tile() * (fills ? 1 : 2) && !(is_narrow && !plan.passes.empty());
  return !plan.is_convolution() && !(plan.has_split() && (are_few || are_long));
}

/// Whether lines are transformed one by one.
template <class T>
bool are_whole_lines(int64_t n, const Lines<const T>& in, const Lines<T>& out) {
  return are_rows(in) && are_rows(out) && LineTransform<T>::suits(n);
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

/// Many long lines that are columns, a few at a time as rows of a copy: one by one, they would read
/// all cache lines once for each of them.
template <class T>
void transform_turned(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                      int64_t count, Task task) {
  const int64_t groups = (count + kTurned<T> - 1) / kTurned<T>;
  parallel_for(0, groups, 1, [&](int64_t begin, int64_t end) {
    const TurnedLines<T> rows(plan.n, scratch<T>(3, static_cast<size_t>(2 * plan.n * kTurned<T>)));
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * kTurned<T>, lines = std::min(kTurned<T>, count - first);
      if (!are_rows(in)) rows.take(in, first, lines);
      const Lines<const T> from = are_rows(in) ? in.from(first) : rows.lines().read();
      const Lines<T> to = are_rows(out) ? out.from(first) : rows.lines();
      for (int64_t v = 0; v < lines; ++v) transform_split(plan, from, to, v, task);
      if (!are_rows(out)) rows.give(out, first, lines);
    }
  });
}

template <class T>
void transform_convolved(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                         int64_t count, Task task);

/// Each of `count` lines, which may be transformed in place: from one place to the same.
template <class T>
void transform(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out, int64_t count,
               Task task) {
  if (plan.is_convolution()) return transform_convolved(plan, in, out, count, task);
  if (are_whole_lines(plan.n, in, out)) {
    const auto scale = static_cast<T>(task.scale);
    return task.inverse ? transform_lines<T, true>(plan.n, in, out, count, scale)
                        : transform_lines<T, false>(plan.n, in, out, count, scale);
  }
  if (is_tiled(plan, count)) return transform_tiles(plan, in, out, count, task);
  if (count >= kTurned<T> * num_threads() && in.imag == 1 && out.imag == 1 &&
      !(are_rows(in) && are_rows(out)))
    return transform_turned(plan, in, out, count, task);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) transform_split(plan, in, out, line, task);
  };
  // Few lines leave the threads to the parts of each.
  if (count < num_threads()) return run(0, count);
  parallel_for(0, count, std::max<int64_t>(1, kGrain / (16 * plan.n)), run);
}

/// Calls body(first, count, memory) for groups of lines, each of which gets memory of `size` real
/// numbers per line; on several threads where there are many. Lines that are split are groups of
/// their own: what follows finds them in the first cache.
template <class T, class Body>
void for_groups(const Plan<T>& plan, int slot, int64_t lines, int64_t size, const Body& body) {
  const int64_t width = plan.has_split() ? 1 : kLanes<T>;
  const int64_t groups = (lines + width - 1) / width;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t count = std::min(width, lines - g * width);
      body(g * width, count, scratch<T>(slot, static_cast<size_t>(count * size)));
    }
  };
  // Few groups leave the threads to what each of them does.
  if (groups < num_threads()) return run(0, groups);
  parallel_for(0, groups, std::max<int64_t>(1, kGrain / (8 * size * width)), run);
}

/// Bluestein's: jk = (j^2 + k^2 - (k - j)^2) / 2 makes a convolution of a transform.
template <class T>
void transform_convolved(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                         int64_t count, Task task) {
  const int64_t n = plan.n, length = plan.padded->n;
  const T* chirp = plan.chirp.data();
  const T sign = task.inverse ? T(-1) : T(1), scale = static_cast<T>(task.scale);
  for_groups<T>(plan, 3, count, 2 * length, [&](int64_t first, int64_t size, T* memory) {
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
