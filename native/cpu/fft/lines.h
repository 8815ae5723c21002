#pragma once

/// Lines of numbers in memory of any strides.

#include <cstdint>
#include <limits>

#include "core/geometry/shape.h"

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
  /// How many there are from one on along the last dim.
  int64_t left_of_row(int64_t number) const {
    const int64_t size = sizes[sizes.size() - 1];
    return size - number % size;
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
  /// Where lines [first, first + count) begin. Mostly they are neighbours along the last dim.
  void find(int64_t first, int64_t count, T** at) const {
    const size_t dims = grid.sizes.size();
    const bool are_neighbours = dims == 1 || (dims > 1 && grid.left_of_row(start + first) >= count);
    T* const begin = line(first);
    const int64_t apart = are_neighbours ? grid.steps[dims - 1] : 0;
    for (int64_t v = 0; v < count; ++v)
      at[v] = are_neighbours ? begin + v * apart : line(first + v);
  }
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

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
