#pragma once

/// What attention and its gradient share: a head's matrices, and products of blocks of them.
/// Include only from *.simd.cpp files.

#include "core/tensor/tensor.h"
#include "cpu/linalg/pack.h"
#include "cpu/rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Scores that are worked on together: rows of queries, columns of keys. They stay in the
/// second-level cache, with the rows of keys and values that they belong to.
inline constexpr int64_t kScoreRows = 48, kScoreColumns = 128;
/// From a row of scores to the next: not a power of two, so that columns spread over the cache.
inline constexpr int64_t kScoreStep = kScoreColumns + 16;

struct Heads {
  int64_t count, queries, keys, features, values;
  bool is_causal;
  Heads(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal)
      : count(query.sizes()[0]),
        queries(query.sizes()[1]),
        keys(key.sizes()[1]),
        features(query.sizes()[2]),
        values(value.sizes()[2]),
        is_causal(is_causal) {}
  bool has_scores() const { return count > 0 && queries > 0 && keys > 0; }
  /// Keys that the query of this row attends to.
  int64_t seen(int64_t row) const { return is_causal ? std::min(keys, row + 1) : keys; }
  int64_t row_blocks() const { return (queries + kScoreRows - 1) / kScoreRows; }
  int64_t column_blocks() const { return (keys + kScoreColumns - 1) / kScoreColumns; }
};

/// In the type that is computed in, row after row.
template <class C>
Tensor dense_in(const Tensor& values) {
  return contiguous_data(cast_data(values, dtype_of<C>));
}

/// c = alpha a b + beta c: element (i, p) of a at a.at(i, p), b in packed panels of `depth` lines,
/// or, with `step`, in lines that are so far apart.
template <class C>
void add_product(int64_t rows, int64_t columns, int64_t depth, const MatrixView<C>& a, const C* b,
                 int64_t step, C* c, int64_t ldc, C alpha, C beta) {
  constexpr int64_t width = kTileColumns<C>;
  for (int64_t j = 0; j < columns; j += width) {
    const SteppedLines<C> lines =
        step ? SteppedLines<C>{b + j, step} : SteppedLines<C>{b + j * depth, width};
    for (int64_t i = 0; i < rows; i += kTileRows)
      run_tile(std::min<int64_t>(kTileRows, rows - i), std::min(width, columns - j), depth,
               StridedRows<C>{a.data + i * a.row, a.row, a.column}, lines,
               Epilogue<C>{c + i * ldc + j, ldc, alpha, beta, nullptr});
  }
}

/// The transposes of every head's rows, in panels: what scores are products with.
template <class C>
class TransposedHeads {
 public:
  TransposedHeads(const C* data, int64_t heads, int64_t rows, int64_t length)
      : length_(length), size_((rows + kWidth - 1) / kWidth * kWidth * length) {
    const int64_t panels = (rows + kWidth - 1) / kWidth;
    packed_ = empty(Shape{std::max<int64_t>(1, heads * size_)}, dtype_of<C>);
    C* to = packed_.data<C>();
    for_rows(heads * panels, kWidth * length, 2, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % panels * kWidth;
        const MatrixView<C> panel{data + (i / panels * rows + first) * length, 1, length};
        pack_b(panel, length, std::min(kWidth, rows - first), to + i * kWidth * length);
      }
    });
  }
  /// Panels from row `first` of a head on; `first` is where a block of scores begins.
  const C* panels(int64_t head, int64_t first) const {
    return packed_.data<C>() + head * size_ + first * length_;
  }

 private:
  static constexpr int64_t kWidth = kTileColumns<C>;
  static_assert(kScoreColumns % kWidth == 0);
  int64_t length_, size_;
  Tensor packed_;
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA
