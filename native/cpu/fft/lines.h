#pragma once

/// Transforms of many lines of complex numbers, from memory to memory of any strides.

#include <algorithm>
#include <limits>

#include "core/geometry/shape.h"
#include "core/threads/parallel.h"
#include "cpu/fft/passes.h"
#include "cpu/fft/square.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// Where the first elements of lines lie: at the sum of steps times indices, the last fastest.
struct Grid {
  Shape sizes, steps;
  int64_t offset(int64_t number) const {
    int64_t result = 0;
    for (size_t d = sizes.size(); d-- > 1;) {
      result += number % sizes[d] * steps[d];
      number /= sizes[d];
    }
    return sizes.empty() ? 0 : result + number * steps[0];
  }
};

inline constexpr int64_t kNoImaginary = std::numeric_limits<int64_t>::min();

/// Lines of numbers, all distances counted in real ones: element k lies k * step behind the first,
/// its imaginary part `imag` further on. `start`: the number of the first line.
template <class T>
struct Lines {
  T* base;
  Grid grid;
  int64_t step, imag, start = 0;
  T* line(int64_t index) const { return base + grid.offset(start + index); }
  bool has_imaginary() const { return imag != kNoImaginary; }
  Lines from(int64_t first) const {
    Lines rest = *this;
    rest.start += first;
    return rest;
  }
  Lines<const T> read() const { return {base, grid, step, imag, start}; }
};

/// Lines of complex numbers one behind the other, `distance` real numbers apart.
template <class T>
Lines<T> lines_apart(T* base, int64_t distance, int64_t step = 2) {
  return {base, {{1}, {distance}}, step, 1};
}

/// Lines of which one half says all, as the other is its conjugate: read from there, or written.
enum class Half : uint8_t { none, read, written };

/// What is done to lines besides.
struct Task {
  bool inverse;  ///< as the transform of numbers whose parts are swapped
  double scale;
  Half half = Half::none;
};

/// Lines [first, first + count) into a tile; what is left of it becomes 0.
template <class T>
void gather(const Lines<const T>& lines, int64_t first, int64_t count, int64_t n, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>, kRun = 16;
  const T* from[kWidth];
  for (int64_t v = 0; v < kWidth; ++v) from[v] = lines.line(first + std::min(v, count - 1));
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
  for (int64_t v = 0; v < count; ++v) to[v] = lines.line(first + v);
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

/// The same of lines of complex numbers without gaps.
template <class T>
void gather_rows(const Lines<const T>& lines, int64_t first, int64_t count, int64_t n,
                 Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>, kNumbers = kWidth / 2;
  const T* from[kWidth];
  for (int64_t v = 0; v < kWidth; ++v) from[v] = lines.line(first + std::min(v, count - 1));
  int64_t k = 0;
  for (; k + kNumbers <= n; k += kNumbers) {
    typename RowOf<T>::type rows[kWidth];
    for (int64_t v = 0; v < kWidth; ++v) load(rows[v], from[v] + 2 * k);
    transpose<T>(rows);
    for (int64_t i = 0; i < kNumbers; ++i) {
      store(tile.re + (k + i) * kWidth, rows[2 * i]);
      store(tile.im + (k + i) * kWidth, rows[2 * i + 1]);
    }
  }
  for (; k < n; ++k) {
    for (int64_t v = 0; v < kWidth; ++v) {
      tile.re[k * kWidth + v] = from[v][2 * k];
      tile.im[k * kWidth + v] = from[v][2 * k + 1];
    }
  }
}
template <class T>
void scatter_rows(const Lines<T>& lines, int64_t first, int64_t count, int64_t n,
                  Parts<const T> tile, T scale) {
  constexpr int64_t kWidth = kLanes<T>, kNumbers = kWidth / 2;
  T* to[kWidth];
  for (int64_t v = 0; v < count; ++v) to[v] = lines.line(first + v);
  int64_t k = 0;
  for (; k + kNumbers <= n; k += kNumbers) {
    typename RowOf<T>::type rows[kWidth];
    for (int64_t i = 0; i < kNumbers; ++i) {
      load(rows[2 * i], tile.re + (k + i) * kWidth);
      load(rows[2 * i + 1], tile.im + (k + i) * kWidth);
    }
    transpose<T>(rows);
    for (int64_t v = 0; v < count; ++v) {
      rows[v] *= scale;
      store(to[v] + 2 * k, rows[v]);
    }
  }
  for (; k < n; ++k) {
    for (int64_t v = 0; v < count; ++v) {
      to[v][2 * k] = tile.re[k * kWidth + v] * scale;
      to[v][2 * k + 1] = tile.im[k * kWidth + v] * scale;
    }
  }
}

/// The same where neighbours lie side by side.
template <class T>
void gather_columns(const Lines<const T>& lines, int64_t first, int64_t n, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const T* from = lines.line(first);
  for (int64_t k = 0; k < n; ++k) {
    Wide<T> re, im;
    load_parts(re, im, from + k * lines.step);
    store(tile.re + k * kWidth, re);
    store(tile.im + k * kWidth, im);
  }
}
template <class T>
void scatter_columns(const Lines<T>& lines, int64_t first, int64_t n, Parts<const T> tile,
                     T scale) {
  constexpr int64_t kWidth = kLanes<T>;
  T* to = lines.line(first);
  for (int64_t k = 0; k < n; ++k) {
    Wide<T> re, im;
    load(re, tile.re + k * kWidth);
    load(im, tile.im + k * kWidth);
    store_parts<T>(to + k * lines.step, re * scale, im * scale);
  }
}

/// Whether lines [first, first + kLanes) are complex numbers that lie side by side.
template <class T>
bool are_columns(const Lines<T>& lines, int64_t first, int64_t count) {
  const Grid& grid = lines.grid;
  if (count != kLanes<T> || lines.imag != 1 || grid.sizes.empty()) return false;
  const size_t last = grid.sizes.size() - 1;
  const bool fits =
      last == 0 || (lines.start + first) % grid.sizes[last] + count <= grid.sizes[last];
  return fits && grid.steps[last] == 2;
}

template <class T>
bool are_rows(const Lines<T>& lines) {
  return lines.imag == 1 && lines.step == 2;
}

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

template <class T>
Parts<T> swapped_if(bool swapped, Parts<T> parts) {
  return swapped ? Parts<T>{parts.im, parts.re} : parts;
}

/// Element k of column j times e^(-2 pi i j k / n).
template <class T>
void turn(const Plan<T>& split, int64_t first, int64_t count, Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t rows = split.of_columns->n, columns = split.of_rows->n;
  for (int64_t k = 0; k < rows; ++k) {
    const T* turns = split.turns.data() + 2 * (k * columns + first);
    T *re = tile.re + k * kWidth, *im = tile.im + k * kWidth;
    for (int64_t v = 0; v < count; ++v) {
      const T a = re[v], b = im[v];
      re[v] = a * turns[2 * v] - b * turns[2 * v + 1];
      im[v] = a * turns[2 * v + 1] + b * turns[2 * v];
    }
  }
}

/// `split`: these are the columns of a long line, which are turned after their transform.
template <class T>
void transform_tiles(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                     int64_t count, Task task, const Plan<T>* split = nullptr) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t tiles = (count + kWidth - 1) / kWidth, half = plan.n / 2 + 1;
  const int64_t given_size = task.half == Half::read ? half : plan.n;
  const int64_t found_size = task.half == Half::written ? half : plan.n;
  const int64_t grain = std::max<int64_t>(1, kGrain / (8 * plan.n * kWidth));
  parallel_for(0, tiles, grain, [&](int64_t begin, int64_t end) {
    Tile<T> tile(plan.n);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t * kWidth, size = std::min(kWidth, count - first);
      const Parts<T> given = swapped_if(task.inverse, tile.lines());
      if (are_columns(in, first, size)) {
        gather_columns(in, first, given_size, given);
      } else if (are_rows(in)) {
        gather_rows(in, first, size, given_size, given);
      } else {
        gather(in, first, size, given_size, given);
      }
      if (task.half == Half::read) mirror(plan.n, given);
      tile.transform(plan);
      if (split != nullptr) turn(*split, first, size, tile.lines());
      const Parts<T> found = swapped_if(task.inverse, tile.lines());
      const T scale = static_cast<T>(task.scale);
      if (are_columns(out, first, size)) {
        scatter_columns<T>(out, first, found_size, {found.re, found.im}, scale);
      } else if (are_rows(out)) {
        scatter_rows<T>(out, first, size, found_size, {found.re, found.im}, scale);
      } else {
        scatter<T>(out, first, size, found_size, {found.re, found.im}, scale);
      }
    }
  });
}

/// One long line as a matrix: its columns into `work`, whose rows become the result's columns.
template <class T>
void transform_split(const Plan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                     int64_t line, Task task) {
  const int64_t rows = plan.of_columns->n, columns = plan.of_rows->n;
  T* work = scratch<T>(2, static_cast<size_t>(2 * plan.n));
  const Lines<const T> from{in.line(line), {{columns}, {in.step}}, columns * in.step, in.imag};
  const Lines<T> between = lines_apart(work, 2, 2 * columns);
  transform_tiles<T>(*plan.of_columns, from, between, columns, {task.inverse, 1}, &plan);
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
  const bool are_few = plan.n >= 256 && count <= kLanes<T> / 4;
  const bool are_long = plan.n > ::flambeau::cpu::fft::kLongestTile;
  if (!plan.has_split() || !(are_few || are_long))
    return transform_tiles(plan, in, out, count, task);
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
