#pragma once

#include "core/tensor/tensor.h"

/// Places of sparse matrices in the order of their rows.
namespace flambeau::cpu {

/// Entries that have the same row: group g is order[offsets[g]] to order[offsets[g + 1]], in the
/// order in which they are listed. Rows without entries have no group, whatever the size.
class RowGroups {
 public:
  /// Of `rows`, int64 [n], dense; Error(runtime) that names `op` for a row outside [0, extent).
  RowGroups(const Tensor& rows, int64_t extent, const char* op);
  int64_t count() const { return count_; }
  int64_t row(int64_t group) const { return rows_.data<int64_t>()[group]; }
  /// The i-th entry in the order of rows; those of a group begin at first(group).
  int64_t entry(int64_t i) const { return order_.data<int64_t>()[i]; }
  int64_t first(int64_t group) const { return offsets_.data<int64_t>()[group]; }
  const int64_t* begin(int64_t group) const { return order_.data<int64_t>() + first(group); }
  const int64_t* end(int64_t group) const { return begin(group + 1); }
  /// The group of a row, or -1.
  int64_t find(int64_t row) const;

 private:
  Tensor order_;    ///< int64 [n]: positions of entries, row by row
  Tensor rows_;     ///< int64 [n], of which `count_` ascending rows are used
  Tensor offsets_;  ///< int64 [n + 1]
  int64_t count_ = 0;
};

/// Row `number` of a matrix of indices, int64 [2, n], dense.
Tensor index_row(const Tensor& indices, int64_t number);

}  // namespace flambeau::cpu
