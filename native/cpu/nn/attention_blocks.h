#pragma once

/// What attention and its gradient share: a head's matrices, and products of blocks of them, whose
/// factors have a form: elements as they lie in memory (Plain), or pairs of halves (Pairs). A form
/// says how the heads' matrices are kept (Panels), and what of a block of scores becomes a factor.
/// Include only from *.simd.cpp files.

#include "core/tensor/tensor.h"
#include "cpu/linalg/pack.h"
#include "cpu/nn/exponentials.h"
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

/// Right factors as tiles read them: column j's panel, and how far its lines are apart.
template <class P>
struct Panels {
  const P* data;
  int64_t panel, step;
  SteppedLines<P> from_column(int64_t j) const {
    return {data + j / kTileColumns<P> * panel, step};
  }
};

/// How forms multiply whose tiles are in vector registers.
struct TilesInVectors {
  /// What a thread holds while it multiplies.
  struct Session {};
  /// c = alpha a b + beta c: `rows_from(i)` are the rows of a from row i on, `elements` long.
  template <class P, class RowsFrom>
  static void add_product(int64_t rows, int64_t columns, int64_t elements,
                          const RowsFrom& rows_from, const Panels<P>& b, Sum<P>* c, int64_t ldc,
                          Sum<P> alpha, Sum<P> beta) {
    constexpr int64_t width = kTileColumns<P>;
    for (int64_t j = 0; j < columns; j += width)
      for (int64_t i = 0; i < rows; i += kTileRows)
        run_tile(std::min<int64_t>(kTileRows, rows - i), std::min(width, columns - j), elements,
                 rows_from(i), b.from_column(j),
                 Epilogue<P>{c + i * ldc + j, ldc, alpha, beta, nullptr});
  }
};

/// The elements of every head's matrices, packed: `lines` of them, a panel of lines after the
/// other.
template <class P>
class PackedHeads {
 public:
  static constexpr int64_t kWidth = kTileColumns<P>;

  /// `pack(head, first, count, to)` writes the panel of lines [first, first + count).
  template <class Pack>
  PackedHeads(int64_t heads, int64_t lines, int64_t elements, const Pack& pack)
      : elements_(elements), panels_((lines + kWidth - 1) / kWidth) {
    const int64_t panel = kWidth * elements, count = heads * panels_ * panel;
    packed_ =
        empty(Shape{std::max<int64_t>(1, count * static_cast<int64_t>(sizeof(P)))}, DType::uint8);
    P* const to = reinterpret_cast<P*>(packed_.data<uint8_t>());
    for_rows(heads * panels_, panel, 2, [&, to](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % panels_ * kWidth;
        pack(i / panels_, first, std::min(kWidth, lines - first), to + i * panel);
      }
    });
  }
  /// From a line on that begins a panel, and from an element on.
  Panels<P> from(int64_t head, int64_t line, int64_t element) const {
    const int64_t panel = head * panels_ + line / kWidth;
    const P* const data = reinterpret_cast<const P*>(packed_.data<uint8_t>());
    return {data + (panel * elements_ * kWidth) + element * kWidth, elements_ * kWidth, kWidth};
  }

 private:
  int64_t elements_, panels_;
  Tensor packed_;
};
static_assert(kScoreColumns % kTileColumns<float> == 0);

/// Elements are multiplied one by one, in the type that is computed in.
template <class C>
struct Plain : TilesInVectors {
  using Element = C;  // of the heads' matrices
  using Packed = C;   // what tiles multiply
  static constexpr int64_t kSteps = 1;

  static auto rows(const C* data, int64_t row) {
    return [=](int64_t i) { return StridedRows<C>{data + i * row, row, 1}; };
  }

  /// Heads' matrices [lines, depth], as right factors of that depth.
  class Transposed {
   public:
    Transposed(const C* data, int64_t heads, int64_t lines, int64_t depth)
        : packed_(heads, lines, depth, [=](int64_t head, int64_t first, int64_t count, C* to) {
            pack_b(MatrixView<C>{data + (head * lines + first) * depth, 1, depth}, depth, count,
                   to);
          }) {}
    Panels<C> from(int64_t head, int64_t line) const { return packed_.from(head, line, 0); }

   private:
    PackedHeads<C> packed_;
  };

  /// Heads' matrices [depth, columns], as right factors from a step of the depth on.
  class Straight {
   public:
    Straight(const C* data, int64_t, int64_t depth, int64_t columns)
        : data_(data), depth_(depth), columns_(columns) {}
    Panels<C> from(int64_t head, int64_t step) const {
      return {data_ + (head * depth_ + step) * columns_, kTileColumns<C>, columns_};
    }

   private:
    const C* data_;
    int64_t depth_, columns_;
  };

  /// A block of scores as a left factor, and its transpose as one.
  class Block {
   public:
    void take_rows(const C* scores, int64_t, int64_t) { scores_ = scores; }
    void take_columns(const C* scores, int64_t, int64_t) { scores_ = scores; }
    auto rows() const { return Plain::rows(scores_, kScoreStep); }
    auto columns() const {
      return [from = scores_](int64_t i) { return StridedRows<C>{from + i, 1, kScoreStep}; };
    }

   private:
    const C* scores_ = nullptr;
  };
};

/// How many elements of a form hold so many steps of a depth.
template <class Form>
constexpr int64_t elements_of(int64_t depth) {
  return (depth + Form::kSteps - 1) / Form::kSteps;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
