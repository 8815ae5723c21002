#pragma once

#include "core/tensor/tensor.h"
#include "core/threads/interrupt.h"
#include "cpu/linalg/gemm.h"
#include "cpu/linalg/half_lines.h"
#include "cpu/linalg/scratch.h"
#include "cpu/linalg/tile.h"

// Products of matrices of halves: packed in the form in which they are multiplied, summed in float,
// rounded once. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Panels of `width` lines, element after element: what tiles read.
template <class Form>
void pack_by_element(const HalfLines<typename Form::Half>& lines, int64_t elements, int64_t width,
                     typename Form::Packed* packed) {
  using Packed = typename Form::Packed;
  constexpr int64_t lanes = kLanes<float>;
  for (int64_t panel = 0; panel < lines.count; panel += width, packed += width * elements)
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

/// Tiles in vector registers, which write halves themselves.
template <class F>
struct RegisterTiles {
  using Form = F;
  static constexpr int64_t kRows = kTileRows, kColumns = kTileColumns<float>;
  static constexpr int64_t kMultiple = 1;        // of the elements of a panel
  static constexpr int64_t kElements = 1 << 20;  // of a pass: sums stay in registers
  static void pack_rows(const HalfLines<typename Form::Half>& lines, int64_t elements,
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
  /// sums [kRows, kColumns] = (+=) a panel of a times a panel of b.
  static void run(int64_t rows, int64_t elements, const typename Form::Packed* a,
                  const typename Form::Packed* b, float* sums, bool adds) {
    using Packed = typename Form::Packed;
    run_to(rows, elements, PackedRows<Packed>{a}, b,
           Epilogue<Packed>{sums, kColumns, 1.0f, adds ? 1.0f : 0.0f, nullptr});
  }
};

inline constexpr int64_t kOuterDepth = 4096;        // steps that are packed at a time
inline constexpr int64_t kPackedColumns = 1 << 20;  // bytes of b: in L2 or L3
inline constexpr int64_t kPackedRows = 256 << 10;   // bytes of a: in L2
inline constexpr int64_t kRowsInPlace = 4;          // panels of b that do not pay for packing a

/// Finished sums on their way to c, where nothing is read: rounded, times alpha, plus a bias.
template <class Form>
class HalfTarget {
  using T = typename Form::Half;
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
        is_plain_ ? Form::narrow(sum) : narrowed<T>(sum * splat(alpha_) + load(shift_ + j));
    T* const to = c_ + i * ldc_ + j;
    const int64_t left = columns_ - j;
    if (left >= kLine)
      *reinterpret_cast<HalfVector*>(to) = halves;
    else if (left > 0)
      std::memcpy(static_cast<void*>(to), &halves, static_cast<size_t>(left) * sizeof(T));
  }

 private:
  T* c_;
  int64_t ldc_, columns_;
  float alpha_;
  bool is_plain_;
  float shift_[kTileColumns<float>] = {};
};

/// What becomes of finished sums: rounded, with all else that the call asks for.
template <class Form>
class HalfResult {
  using T = typename Form::Half;

 public:
  explicit HalfResult(const Product<T>& call) : call_(call) {}

  /// `sums` [rows, stride] belong at (i, j); `kept`: sums of earlier parts of the depth.
  void write(int64_t i, int64_t j, int64_t rows, int64_t columns, const float* sums, int64_t stride,
             const float* kept, int64_t kept_stride) const {
    if (call_.beta == 0 && !kept) return write_whole(i, j, rows, columns, sums, stride);
    for (int64_t r = 0; r < rows; ++r, sums += stride) {
      T* const out = call_.c + (i + r) * call_.ldc + j;
      float line[kTileColumns<float>];
      for (int64_t q = 0; q < columns; ++q) {
        float value = call_.alpha * (kept ? sums[q] + kept[r * kept_stride + q] : sums[q]);
        if (call_.beta != 0) value += call_.beta * static_cast<float>(out[q]);
        if (call_.bias) value += static_cast<float>(call_.bias[j + q]);
        line[q] = value;
      }
      convert(out, line, columns);
    }
  }

 private:
  void write_whole(int64_t i, int64_t j, int64_t rows, int64_t columns, const float* sums,
                   int64_t stride) const {
    const HalfTarget<Form> to = HalfTarget<Form>(call_, j, columns).below(i);
    for (int64_t r = 0; r < rows; ++r, sums += stride)
      for (int q = 0; q < kTileVectors * kLanes<float>; q += kLanes<float>)
        to.write(static_cast<int>(r), q, load(sums + q), nullptr);
  }

  static void convert(T* to, const float* from, int64_t count) {
    constexpr int64_t lanes = kLanes<float>;
    for (; count >= lanes; count -= lanes, from += lanes, to += lanes)
      *reinterpret_cast<HalfVector*>(to) = narrowed<T>(load(from));
    if (count == 0) return;
    const HalfVector rest = narrowed<T>(Mask<float>(count).load(from));
    std::memcpy(static_cast<void*>(to), &rest, static_cast<size_t>(count) * sizeof(T));
  }

  const Product<T>& call_;
};

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
void write_products(const Product<typename Tiles::Form::Half>& call, int64_t i0, int64_t rows,
                    int64_t j0, int64_t columns, typename Tiles::Form::Packed* packed,
                    const typename Tiles::Form::Packed* b) {
  using Form = typename Tiles::Form;
  using Packed = typename Form::Packed;
  constexpr int64_t kRows = Tiles::kRows, kColumns = Tiles::kColumns;
  const int64_t elements = (call.k + Form::kSteps - 1) / Form::kSteps;
  const MatrixView<typename Form::Half> a = call.a.at(i0, 0);
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
void gemm_halves(const Product<typename Tiles::Form::Half>& call) {
  using Form = typename Tiles::Form;
  using Half = typename Form::Half;
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
  float* const sums = scratch<float>(2, static_cast<size_t>(row_step * kColumns));
  const bool is_cut = call.k > kOuterDepth;
  const Tensor earlier = is_cut ? empty(Shape{call.m, call.n}, DType::float32) : Tensor();
  const HalfResult<Form> result(call);
  for (int64_t p = 0; p == 0 || p < call.k; p += kOuterDepth) {
    const int64_t depth = std::min(kOuterDepth, call.k - p), elements = elements_of(depth);
    const bool is_last = p + kOuterDepth >= call.k;
    for (int64_t j0 = 0; j0 < call.n; j0 += column_step) {
      const int64_t columns = std::min(column_step, call.n - j0);
      const MatrixView<Half> right = call.b.at(p, j0);
      pack_by_element<Form>({right.data, right.column, right.row, columns, depth}, elements,
                            kColumns, b);
      for (int64_t i0 = 0; i0 < call.m; i0 += row_step) {
        check_interrupt();
        const int64_t rows = std::min(row_step, call.m - i0);
        const MatrixView<Half> left = call.a.at(i0, p);
        if constexpr (Tiles::kWritesHalves)
          if (call.beta == 0 && !is_cut) {
            write_products<Tiles>(call, i0, rows, j0, columns, a, b);
            continue;
          }
        Tiles::pack_rows({left.data, left.row, left.column, rows, depth}, elements, a);
        for (int64_t j = 0; j < columns; j += kColumns) {
          // A pass reads part of a panel of b that stays near while it meets all of a.
          for (int64_t e = 0; e == 0 || e < elements; e += Tiles::kElements)
            for (int64_t i = 0; i < rows; i += kRows)
              Tiles::run(std::min(kRows, rows - i), std::min(Tiles::kElements, elements - e),
                         a + i * elements + e * kRows, b + j * elements + e * kColumns,
                         sums + i * kColumns, e > 0);
          const int64_t width = std::min(kColumns, columns - j);
          float* const kept = is_cut ? earlier.data<float>() + i0 * call.n + j0 + j : nullptr;
          if (is_last) {
            result.write(i0, j0 + j, rows, width, sums, kColumns, kept, call.n);
            continue;
          }
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t q = 0; q < width; ++q) {
              float& sum = kept[i * call.n + q];
              sum = p == 0 ? sums[i * kColumns + q] : sum + sums[i * kColumns + q];
            }
        }
      }
    }
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
