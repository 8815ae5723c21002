#include <algorithm>
#include <numeric>

#include "core/threads/parallel.h"
#include "kernels/creation.h"

namespace flambeau::cpu {
namespace {

/// How many of `columns` elements of rows [0, rows) are on a diagonal or below it: rows of none,
/// rows that grow by one, whole rows.
int64_t count_below(int64_t rows, int64_t columns, int64_t diagonal) {
  const int64_t none = std::clamp<int64_t>(-diagonal, 0, rows);
  const int64_t whole = std::clamp<int64_t>(rows + diagonal - columns + 1, 0, rows);
  const int64_t growing = std::max<int64_t>(rows - whole - none, 0);
  return whole * columns + growing * (none + 2 * diagonal + 1 + rows - whole) / 2;
}

}  // namespace

void triangle_places(const Tensor& result, int64_t row, int64_t col, int64_t diagonal, bool above,
                     int64_t count, std::optional<Device>) {
  const auto count_in = [=](int64_t rows) {
    const int64_t below = count_below(rows, col, diagonal);
    return above ? rows * col - below : below;
  };
  int64_t all = 0;
  const bool fits = !__builtin_mul_overflow(row, col, &all) && all <= int64_t{1} << 60 &&
                    diagonal >= -row && diagonal <= col;
  check(fits && count_in(row) == count, ErrorKind::value, "triangle_places: ", count,
        " elements are not those of ", row, " rows, ", col, " columns and the diagonal ", diagonal);
  int64_t *const rows = result.data<int64_t>(), *const columns = rows + count;
  // Other rows have none.
  const int64_t first_row = above ? 0 : std::clamp<int64_t>(-diagonal, 0, row);
  const int64_t last_row = above ? std::clamp<int64_t>(col - diagonal, 0, row) : row;
  parallel_for(first_row, last_row, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, col)),
               [&](int64_t begin, int64_t end) {
                 int64_t at = count_in(begin);
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t edge = std::clamp<int64_t>(i + diagonal + 1, 0, col);
                   const int64_t first = above ? edge : 0, length = (above ? col : edge) - first;
                   std::fill_n(rows + at, length, i);
                   std::iota(columns + at, columns + at + length, first);
                   at += length;
                 }
               });
}

}  // namespace flambeau::cpu
