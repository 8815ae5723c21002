#pragma once

#include "cpu/linalg/half_kernels.h"
#include "cpu/linalg/half_lines.h"
#include "cpu/linalg/scratch.h"

// Few lines with many: every line is read once. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// `rows` packed lines of the few with all of the many; a vector of sums is finished at a time.
template <class Form, int rows>
void dots_of_rows(const HalfDots<typename Form::Half>& call, int64_t first,
                  const typename Form::Packed* few, int64_t elements) {
  using Half = typename Form::Half;
  using Packed = typename Form::Packed;
  constexpr int lanes = kLanes<float>, columns = lanes / rows;
  constexpr int64_t steps = lanes * Form::kSteps;
  const int64_t whole = call.depth / steps * steps;
  for (int64_t j = 0; j < call.many; j += columns) {
    const Half* lines[columns];
    for (int c = 0; c < columns; ++c)
      lines[c] = call.right + std::min(j + c, call.many - 1) * call.right_line;
    Vector<float> sum[lanes] = {};
    const Packed* left = few;
    const auto add = [&](const auto& read) {
#pragma GCC unroll 16
      for (int c = 0; c < columns; ++c) {
        const Vector<Packed> line = read(lines[c]);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          Vector<float>& one = sum[r * columns + c];
          one = multiply_add<Packed>(load(left + r * elements), line, one);
        }
      }
      left += lanes;
    };
    for (int64_t p = 0; p < whole; p += steps)
      add([&](const Half* line) { return Form::along(line + p); });
    if (whole < call.depth)
      add([&](const Half* line) { return elements_along<Form>(line + whole, call.depth - whole); });
    transpose_square<float>(sum);
    Vector<float> total = sum[0];
    for (int q = 1; q < lanes; ++q) total += sum[q];
    for (int r = 0; r < rows && first + r < call.few; ++r)
      for (int c = 0; c < columns && j + c < call.many; ++c)
        call.write(first + r, j + c, total[r * columns + c]);
  }
}

template <class Form>
void dot_halves(const HalfDots<typename Form::Half>& call) {
  using Packed = typename Form::Packed;
  constexpr int64_t lanes = kLanes<float>;
  constexpr int64_t most = std::min<int64_t>(lanes, kFewLines);
  const int64_t elements = (call.depth + lanes * Form::kSteps - 1) / (lanes * Form::kSteps) * lanes;
  Packed* const few = scratch<Packed>(0, static_cast<size_t>(most * elements));
  for (int64_t first = 0; first < call.few; first += most) {
    const int64_t rows = std::min(most, call.few - first);
    int64_t padded = 1;
    while (padded < rows) padded *= 2;
    const HalfLines<typename Form::Half> lines{call.left, call.left_line, call.left_step, call.few,
                                               call.depth};
    for (int64_t r = 0; r < padded; ++r)
      for (int64_t e = 0; e < elements; e += lanes)
        store(few + r * elements + e,
              r < rows ? elements_of_line<Form>(lines, first + r, e * Form::kSteps)
                       : Vector<Packed>{});
    if (padded == 1) dots_of_rows<Form, 1>(call, first, few, elements);
    if (padded == 2) dots_of_rows<Form, 2>(call, first, few, elements);
    if (padded == 4) dots_of_rows<Form, 4>(call, first, few, elements);
    if constexpr (most >= 8) {
      if (padded == 8) dots_of_rows<Form, 8>(call, first, few, elements);
    }
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
