#include "cpu/sparse/groups.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/error.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kCountedRows = 4;  // for each position

/// Sorts positions by their rows, those of one row by themselves: rows are counted where there are
/// not many more than positions. Places of coalesced tensors are in order already.
void sort_by_row(int64_t* order, const int64_t* row, int64_t count, int64_t extent) {
  std::iota(order, order + count, int64_t{0});
  if (std::is_sorted(row, row + count)) return;
  if (extent > kCountedRows * count)
    return std::sort(order, order + count, [row](int64_t a, int64_t b) {
      return row[a] != row[b] ? row[a] < row[b] : a < b;
    });
  std::vector<int64_t> next(static_cast<size_t>(extent) + 1, 0);  // place of a row's next position
  for (int64_t i = 0; i < count; ++i) ++next[static_cast<size_t>(row[i]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int64_t i = 0; i < count; ++i) order[next[static_cast<size_t>(row[i])]++] = i;
}

}  // namespace

RowGroups::RowGroups(const Tensor& rows, int64_t extent, const char* op) {
  const int64_t n = rows.numel();
  const int64_t* const given = rows.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    check(given[i] >= 0 && given[i] < extent, ErrorKind::runtime, op, ": index ", given[i],
          " of the sparse matrix is out of range for ", extent, " places");
  }
  order_ = flambeau::empty(Shape{n}, DType::int64, rows.device());
  rows_ = flambeau::empty(Shape{n}, DType::int64, rows.device());
  offsets_ = flambeau::empty(Shape{n + 1}, DType::int64, rows.device());
  int64_t* const order = order_.data<int64_t>();
  sort_by_row(order, given, n, extent);
  int64_t* const found = rows_.data<int64_t>();
  int64_t* const offsets = offsets_.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    if (count_ > 0 && found[count_ - 1] == given[order[i]]) continue;
    found[count_] = given[order[i]];
    offsets[count_++] = i;
  }
  offsets[count_] = n;
}

int64_t RowGroups::find(int64_t row) const {
  const int64_t* const first = rows_.data<int64_t>();
  const int64_t* const found = std::lower_bound(first, first + count_, row);
  return found != first + count_ && *found == row ? found - first : -1;
}

Tensor index_row(const Tensor& indices, int64_t number) {
  const int64_t count = indices.size(1);
  const Tensor row = make_view(indices, Shape{count}, Shape{indices.strides()[1]},
                               indices.offset() + number * indices.strides()[0]);
  return contiguous_data(row);
}

}  // namespace flambeau::cpu
