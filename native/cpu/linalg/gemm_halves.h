#pragma once

#include "core/tensor/tensor.h"
#include "core/threads/interrupt.h"
#include "cpu/linalg/gemm.h"
#include "cpu/linalg/scratch.h"
#include "cpu/linalg/strided_lines.h"
#include "cpu/linalg/tile.h"

// Products of matrices of halves: packed in the form in which they are multiplied, summed in float,
// rounded once. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512BW__
/// 32 lines that lie side by side, from `first` on.
inline void pack_pairs(const StridedLines<bfloat16>& lines, int64_t first, int64_t elements,
                       Bfloat16Pair* packed) {
  typedef uint16_t Row __attribute__((vector_size(64), aligned(2), may_alias));
  static constexpr bfloat16 kNone[32] = {};
  constexpr int64_t kAhead = 16;  // rows that are asked for: they are apart in memory
  const bfloat16* row = lines.data + first;
  for (int64_t p = 0; p < 2 * elements; p += 2, row += 2 * lines.step, packed += 32) {
    __builtin_prefetch(row + kAhead * lines.step, 0, 3);
    __builtin_prefetch(row + (kAhead + 1) * lines.step, 0, 3);
    const auto at = [&](int64_t step) {
      return *reinterpret_cast<const Row*>(p + step < lines.depth ? row + step * lines.step
                                                                  : kNone);
    };
    const Row low = at(0), high = at(1);
    store(packed, pair_rows(low, high));
    store(packed + 16, pair_rows<16>(low, high));
  }
}
#endif

/// Panels of `width` lines, element after element: what tiles read.
template <class Form>
void pack_by_element(const StridedLines<typename Form::Element>& lines, int64_t elements,
                     int64_t width, typename Form::Packed* packed) {
  using Packed = typename Form::Packed;
  constexpr int64_t lanes = kLanes<float>;
  for (int64_t panel = 0; panel < lines.count; panel += width, packed += width * elements) {
#ifdef __AVX512BW__
    if constexpr (std::is_same_v<Form, Paired>)
      if (width == 2 * lanes && lines.line == 1 && panel + width <= lines.count) {
        pack_pairs(lines, panel, elements, packed);
        continue;
      }
#endif
    for (int64_t i = 0; i < width; i += lanes) {
      const Mask<Packed> room(std::min(lanes, width - i));
      for (int64_t q = 0; q < elements; q += lanes) {
        Vector<Packed> square[kLanes<float>];
        if (panel + i < lines.count) {
          read_square<Form>(lines, panel + i, q * Form::kSteps, false, square);
        } else {
          for (auto& vector : square) vector = Vector<Packed>{};
        }
        for (int64_t e = 0; e < std::min(lanes, elements - q); ++e)
          room.store(packed + (q + e) * width + i, square[e]);
      }
    }
  }
}

/// What is needed after a tile, and asked for meanwhile: all at once it would hold up the loads of
/// factors. `line`: bytes from one to the next.
struct Awaited {
  const void* result;  ///< lines that are written
  int64_t result_line, results;
  const void* left;  ///< rows of left factors, as deep as those of the tile
  int64_t left_line, lefts;
};

/// Tiles in vector registers, which write halves themselves.
template <class F>
struct RegisterTiles {
  using Form = F;
  static constexpr int64_t kRows = kTileRows, kColumns = kTileColumns<float>;
  static constexpr int64_t kMultiple = 1;  // of the elements of a panel
  static void pack_rows(const StridedLines<typename Form::Element>& lines, int64_t elements,
                        typename Form::Packed* packed) {
    pack_by_element<Form>(lines, elements, kRows, packed);
  }
  static constexpr bool kWritesHalves = true;
  /// Some rows of a times a panel of b; `out`: where the sums go.
  template <class Rows, class Out>
  static void run_to(int64_t rows, int64_t elements, const Rows& a, const typename Form::Packed* b,
                     const Out& out) {
    using Packed = typename Form::Packed;
    run_whole_tile<Packed>(rows, elements, a, SteppedLines<Packed>{b, kColumns}, out);
  }
  /// Rows of a, panel after panel.
  static auto panels(const StridedLines<typename Form::Element>& lines, int64_t elements,
                     typename Form::Packed* packed) {
    pack_rows(lines, elements, packed);
    return [=](int64_t i) -> const typename Form::Packed* { return packed + i * elements; };
  }
  static bool are_in_place(const StridedLines<typename Form::Element>&) { return false; }
  /// sums [kRows, kColumns] = some rows of a panel of a times a panel of b.
  static void run(int64_t rows, int64_t elements, const typename Form::Packed* a,
                  const typename Form::Packed* b, float* sums, const Awaited&) {
    using Packed = typename Form::Packed;
    run_to(rows, elements, PackedRows<Packed>{a}, b,
           Epilogue<Packed>{sums, kColumns, 1.0f, 0.0f, nullptr});
  }
};

inline constexpr int64_t kOuterDepth = 4096;        // steps that are packed at a time
inline constexpr int64_t kPackedColumns = 1 << 20;  // bytes of b: in L2 or L3
inline constexpr int64_t kPackedRows = 128 << 10;   // bytes of a: in L2
inline constexpr int64_t kRowsInPlace = 4;          // panels of b that do not pay for packing a

/// Finished sums on their way to c, where nothing is read: rounded, times alpha, plus a bias.
template <class Form>
class HalfTarget {
  using T = typename Form::Element;
  static constexpr int64_t kLine = kLanes<float>;

 public:
  /// Columns [j, j + columns) of c, no more than a tile has.
  HalfTarget(const Product<T>& call, int64_t j, int64_t columns)
      : c_(call.c + j),
        ldc_(call.ldc),
        columns_(columns),
        alpha_(call.alpha),
        is_plain_(call.alpha == 1 && !call.bias) {
    for (int64_t q = 0; call.bias && q < columns; ++q)
      shift_[q] = static_cast<float>(call.bias[j + q]);
  }
  /// The same, `rows` further down.
  HalfTarget below(int64_t rows) const {
    HalfTarget moved = *this;
    moved.c_ += rows * ldc_;
    return moved;
  }

  static constexpr bool reads() { return false; }
  const T* at(int i, int j) const { return c_ + i * ldc_ + j; }
  [[gnu::always_inline]] void write(int i, int j, Vector<float> sum, const Mask<float>*) const {
    const HalfVector halves =
        is_plain_ ? Form::narrow(sum) : Form::narrow_any(sum * splat(alpha_) + load(shift_ + j));
    T* const to = c_ + i * ldc_ + j;
    const int64_t left = columns_ - j;
    if (left >= kLine)
      *reinterpret_cast<HalfVector*>(to) = halves;
    else if (left > 0)
      std::memcpy(static_cast<void*>(to), &halves, static_cast<size_t>(left) * sizeof(T));
  }
  /// Rows [i, i + rows) from lines of kTileColumns sums.
  void write_lines(int64_t i, int64_t rows, const float* sums) const {
    T* to = c_ + i * ldc_;
    if (is_plain_ && columns_ == kTileColumns<float>) {
      for (int64_t r = 0; r < rows; ++r, to += ldc_, sums += kTileColumns<float>)
        for (int64_t j = 0; j < kTileColumns<float>; j += kLine)
          *reinterpret_cast<HalfVector*>(to + j) = Form::narrow(load(sums + j));
      return;
    }
    for (int64_t r = 0; r < rows; ++r, sums += kTileColumns<float>)
      for (int j = 0; j < kTileColumns<float>; j += kLine)
        write(static_cast<int>(i + r), j, load(sums + j), nullptr);
  }

 private:
  T* c_;
  int64_t ldc_, columns_;
  float alpha_;
  bool is_plain_;
  float shift_[kTileColumns<float>] = {};
};

/// Lines of kTileColumns sums, of which there are `columns`, into c where it is read, or where sums
/// of earlier parts of the depth were kept (else null). `c` and `bias`: of the first column.
template <class T>
void add_lines(const Product<T>& call, T* c, const T* bias, int64_t rows, int64_t columns,
               const float* sums, const float* kept) {
  for (int64_t r = 0; r < rows; ++r, sums += kTileColumns<float>, c += call.ldc) {
    float line[kTileColumns<float>];
    for (int64_t q = 0; q < columns; ++q) {
      float value = call.alpha * (kept ? sums[q] + kept[r * call.n + q] : sums[q]);
      if (call.beta != 0) value += call.beta * static_cast<float>(c[q]);
      if (bias) value += static_cast<float>(bias[q]);
      line[q] = value;
    }
    constexpr int64_t lanes = kLanes<float>;
    for (int64_t q = 0; q < columns; q += lanes) {
      const HalfVector halves = narrowed<T>(load(line + q));
      std::memcpy(static_cast<void*>(c + q), &halves,
                  static_cast<size_t>(std::min(lanes, columns - q)) * sizeof(T));
    }
  }
}

/// The same lines, kept as the sums of a part of the depth.
inline void keep_lines(float* kept, int64_t step, int64_t rows, int64_t columns, const float* sums,
                       bool is_first) {
  for (int64_t r = 0; r < rows; ++r, sums += kTileColumns<float>, kept += step)
    for (int64_t q = 0; q < columns; ++q) kept[q] = is_first ? sums[q] : kept[q] + sums[q];
}

/// Rows of pairs where they lie in memory.
struct PairRows {
  const bfloat16* data;
  int64_t row;
  Bfloat16Pair at(int i) const {
    Bfloat16Pair pair;
    std::memcpy(&pair, data + i * row, sizeof pair);
    return pair;
  }
  void advance() { data += 2; }
};

/// Rows [i0, i0 + rows) and columns [j0, j0 + columns) of c, finished: their panels of b are packed
/// already.
template <class Tiles>
void write_products(const Product<typename Tiles::Form::Element>& call, int64_t i0, int64_t rows,
                    int64_t j0, int64_t columns, typename Tiles::Form::Packed* packed,
                    const typename Tiles::Form::Packed* b) {
  using Form = typename Tiles::Form;
  using Packed = typename Form::Packed;
  constexpr int64_t kRows = Tiles::kRows, kColumns = Tiles::kColumns;
  const int64_t elements = (call.k + Form::kSteps - 1) / Form::kSteps;
  const MatrixView<typename Form::Element> a = call.a.at(i0, 0);
  const auto run = [&](const auto& rows_at) {
    for (int64_t j = 0; j < columns; j += kColumns) {
      const HalfTarget<Form> out(call, j0 + j, std::min(kColumns, columns - j));
      for (int64_t i = 0; i < rows; i += kRows)
        Tiles::run_to(std::min(kRows, rows - i), elements, rows_at(i), b + j * elements,
                      out.below(i0 + i));
    }
  };
  if constexpr (std::is_same_v<Packed, Bfloat16Pair>)
    if (a.column == 1 && call.k % 2 == 0 && call.n <= kRowsInPlace * kColumns)
      return run([&](int64_t i) { return PairRows{a.data + i * a.row, a.row}; });
  Tiles::pack_rows({a.data, a.row, a.column, rows, call.k}, elements, packed);
  run([&](int64_t i) { return PackedRows<Packed>{packed + i * elements}; });
}

/// On one thread.
template <class Tiles>
void gemm_halves(const Product<typename Tiles::Form::Element>& call) {
  using Form = typename Tiles::Form;
  using Element = typename Form::Element;
  using Packed = typename Form::Packed;
  constexpr int64_t kRows = Tiles::kRows, kColumns = Tiles::kColumns;
  const auto rounded = [](int64_t count, int64_t step) { return (count + step - 1) / step * step; };
  const auto elements_of = [&](int64_t depth) {
    return rounded((depth + Form::kSteps - 1) / Form::kSteps, Tiles::kMultiple);
  };
  const int64_t most = std::max<int64_t>(elements_of(std::min(call.k, kOuterDepth)), 1);
  const auto fitting = [&](int64_t bytes, int64_t step, int64_t extent) {
    const int64_t lines = bytes / (most * static_cast<int64_t>(sizeof(Packed))) / step * step;
    return std::clamp(lines, step, rounded(extent, step));
  };
  const int64_t column_step = fitting(kPackedColumns, kColumns, call.n);
  const int64_t row_step = fitting(kPackedRows, kRows, call.m);
  Packed* const b = scratch<Packed>(0, static_cast<size_t>(column_step * most));
  Packed* const a = scratch<Packed>(1, static_cast<size_t>(row_step * most));
  float* const sums = scratch<float>(2, static_cast<size_t>(2 * kRows * kColumns));
  const bool is_cut = call.k > kOuterDepth;
  const Tensor earlier = is_cut ? empty(Shape{call.m, call.n}, DType::float32) : Tensor();
  for (int64_t p = 0; p == 0 || p < call.k; p += kOuterDepth) {
    const int64_t depth = std::min(kOuterDepth, call.k - p), elements = elements_of(depth);
    const bool is_last = p + kOuterDepth >= call.k;
    for (int64_t j0 = 0; j0 < call.n; j0 += column_step) {
      const int64_t columns = std::min(column_step, call.n - j0);
      const MatrixView<Element> right = call.b.at(p, j0);
      pack_by_element<Form>({right.data, right.column, right.row, columns, depth}, elements,
                            kColumns, b);
      for (int64_t i0 = 0; i0 < call.m; i0 += row_step) {
        check_interrupt();
        const int64_t rows = std::min(row_step, call.m - i0);
        const MatrixView<Element> left = call.a.at(i0, p);
        if constexpr (Tiles::kWritesHalves)
          if (call.beta == 0 && !is_cut) {
            write_products<Tiles>(call, i0, rows, j0, columns, a, b);
            continue;
          }
        const StridedLines<Element> lines_of_a{left.data, left.row, left.column, rows, depth};
        const auto left_panel = Tiles::panels(lines_of_a, elements, a);
        const int64_t later_rows =
            Tiles::are_in_place(lines_of_a) ? std::min(row_step, call.m - i0 - rows) : 0;
        const auto part_of = [&](int64_t count, int64_t column) {
          return count * std::min(column, columns) / columns;
        };
        for (int64_t j = 0; j < columns; j += kColumns) {
          const int64_t width = std::min(kColumns, columns - j);
          Element* const c = call.c + i0 * call.ldc + j0 + j;
          float* const kept = is_cut ? earlier.data<float>() + i0 * call.n + j0 + j : nullptr;
          const HalfTarget<Form> out(call, j0 + j, width);
          const auto finish = [&](int64_t i, const float* tile) {
            const int64_t lines = std::min(kRows, rows - i);
            float* const before = is_cut ? kept + i * call.n : nullptr;
            if (!is_last)
              keep_lines(before, call.n, lines, width, tile, p == 0);
            else if (call.beta == 0 && !is_cut)
              out.write_lines(i0 + i, lines, tile);
            else
              add_lines(call, c + i * call.ldc, call.bias ? call.bias + j0 + j : nullptr, lines,
                        width, tile, before);
          };
          // A tile is finished while the next is computed: no load waits for a store.
          float *mine = sums, *other = sums + kRows * kColumns;
          for (int64_t i = 0; i < rows; i += kRows, std::swap(mine, other)) {
            const int64_t lines = std::min(kRows, rows - i);
            Awaited awaited{c + i * call.ldc, call.ldc * 2, lines, nullptr, left.row * 2, 0};
            // Panel after panel of b, a part of the rows of a that follow these.
            const int64_t first = part_of(kRows, j), end = part_of(kRows, j + kColumns);
            awaited.lefts = std::clamp<int64_t>(later_rows - i - first, 0, end - first);
            if (awaited.lefts) awaited.left = left.at(row_step + i + first, 0).data;
            Tiles::run(lines, elements, left_panel(i), b + j * elements, mine, awaited);
            if (i > 0) finish(i - kRows, other);
          }
          finish((rows - 1) / kRows * kRows, other);
        }
      }
    }
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
