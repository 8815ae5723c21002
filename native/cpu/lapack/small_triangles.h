#pragma once

#include <type_traits>

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"

namespace flambeau::cpu {

/// A square triangle and the right-hand sides beside it, of any strides.
template <class T>
struct Triangular {
  bool is_upper, is_unit;
  int64_t rows, columns;  ///< rows: at most triangle_rows<T>(columns)
  const T* a;
  int64_t a_row, a_column;
  T* b;
  int64_t b_row, b_column;
};

/// Several right-hand sides are solved in a copy of at most so many bytes, one in registers.
inline constexpr int64_t kCopiedBytes = 1 << 15, kMostRows = kCopiedBytes / 64, kTriangle = 32;
/// Rows of the largest triangle that is solved with so many right-hand sides.
template <class T>
constexpr int64_t triangle_rows(int64_t columns) {
  if (columns == 1) return kTriangle;
  constexpr int64_t line = std::is_floating_point_v<T> ? 64 : 128;  // bytes, of both parts
  const int64_t bytes = columns * static_cast<int64_t>(sizeof(T));
  return kCopiedBytes / (bytes <= line ? line : bytes <= 2 * line ? 2 * line : 4 * line);
}

FLAMBEAU_IN_EACH_SET(template <class T> void substitute(const Triangular<T>& system);)

/// Solves for each column of b, which becomes the solution. Compiled once per instruction set
/// (small_triangles.simd.cpp).
template <class T>
void substitute(const Triangular<T>& system) {
  static auto* const best = FLAMBEAU_PICK(substitute<T>);
  best(system);
}

}  // namespace flambeau::cpu
