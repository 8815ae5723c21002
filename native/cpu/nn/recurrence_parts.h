#pragma once

/// What recurrences and their gradients share: packed weights, and where the rows of steps lie.
/// Include only from *.simd.cpp files.

#include <memory>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"
#include "cpu/linalg/pack.h"
#include "cpu/nn/recurrence_cells.h"
#include "cpu/rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Multiplications that pay for waking another thread.
inline constexpr int64_t kRecurrentWork = 200'000;
/// Fewer rows for each thread read the weights too often for what they compute.
inline constexpr int64_t kLeastRows = 4;

/// From a row of working memory to the next: columns of many rows spread over the cache.
inline constexpr int64_t spread(int64_t count) { return count + 16; }

template <class C>
std::unique_ptr<C[]> working_memory(int64_t count) {
  return std::make_unique<C[]>(static_cast<size_t>(count));
}

/// A matrix in the order in which tiles read it, for the products of all steps.
template <class C>
class PackedWeights {
 public:
  PackedWeights(const MatrixView<C>& matrix, int64_t depth, int64_t columns)
      : depth_(depth), columns_(columns), panels_((columns + kWidth - 1) / kWidth) {
    packed_ = empty(Shape{std::max<int64_t>(1, panels_ * kWidth * depth)}, dtype_of<C>);
    C* to = packed_.data<C>();
    for_rows(panels_, kWidth * depth, 2, [=](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j)
        pack_b(matrix.at(0, j * kWidth), depth, std::min(kWidth, columns - j * kWidth),
               to + j * kWidth * depth);
    });
  }

  /// c = a @ matrix + beta c (+ bias); on several threads outside of parallel regions. Rows of a
  /// are dense. Turned, it begins with the last columns: weights that are larger than a cache are
  /// then met first where those of the call before were met last.
  void multiply(int64_t rows, const C* a, int64_t lda, C* c, int64_t ldc, C beta, const C* bias,
                bool is_turned) const {
    const int64_t blocks = (rows + kTileRows - 1) / kTileRows, block = (rows + blocks - 1) / blocks;
    const int64_t work = std::max<int64_t>(1, rows * depth_ * kWidth);
    const C* packed = packed_.data<C>();
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t j = (is_turned ? begin + end - 1 - p : p) * kWidth;
        for (int64_t i = 0; i < rows; i += block)
          run_tile(std::min(block, rows - i), std::min(kWidth, columns_ - j), depth_,
                   StridedRows<C>{a + i * lda, lda, 1},
                   SteppedLines<C>{packed + j * depth_, kWidth},
                   Epilogue<C>{c + i * ldc + j, ldc, C(1), beta, bias ? bias + j : nullptr});
      }
    };
    const int64_t grain = std::max<int64_t>(1, kRecurrentWork / work);
    if (panels_ <= grain || in_parallel_region()) {
      run(0, panels_);
    } else {
      parallel_for(0, panels_, grain, run);
    }
  }

 private:
  static constexpr int64_t kWidth = kTileColumns<C>;
  int64_t depth_, columns_, panels_;
  Tensor packed_;
};

/// The rows of steps: step t has those of samples 0 to sizes[t], which do not increase.
class Steps {
 public:
  Steps(IntList sizes, bool is_reverse, int64_t samples, int64_t rows)
      : sizes_(sizes.begin(), sizes.end()), is_reverse_(is_reverse) {
    int64_t begin = 0, before = samples;
    for (const int64_t size : sizes_) {
      check(size >= 0 && size <= before, ErrorKind::runtime,
            "recurrence(): batch_sizes must not increase from ", samples, ", got ", size, " after ",
            before);
      offsets_.push_back(begin);
      begin += size;
      before = size;
    }
    check(begin == rows, ErrorKind::runtime, "recurrence(): batch_sizes add up to ", begin,
          ", but there are ", rows, " rows");
  }
  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }
  /// The step that is computed as number k.
  int64_t step(int64_t k) const { return is_reverse_ ? count() - 1 - k : k; }
  int64_t size(int64_t step) const { return sizes_[static_cast<size_t>(step)]; }
  int64_t place(int64_t step, int64_t sample) const {
    return offsets_[static_cast<size_t>(step)] + sample;
  }
  /// Where the sample's row lies that was computed before; -1: this is its first one.
  int64_t place_before(int64_t step, int64_t sample) const {
    const int64_t before = is_reverse_ ? step + 1 : step - 1;
    const bool is_there = before >= 0 && before < count() && sample < size(before);
    return is_there ? place(before, sample) : -1;
  }

 private:
  std::vector<int64_t> sizes_, offsets_;
  bool is_reverse_;
};

/// Every `parts`-th sample: as many of long sequences as of short ones. Samples need nothing of
/// each other, so that a thread runs its own through all steps.
struct SampleSet {
  int64_t first, parts, samples;
  int64_t sample(int64_t row) const { return first + row * parts; }
  int64_t rows_below(int64_t limit) const {
    return limit > first ? (limit - first - 1) / parts + 1 : 0;
  }
  int64_t rows() const { return rows_below(samples); }
};

/// body(set) for sets of samples, several at a time where that pays.
template <class Body>
void for_sample_sets(int64_t samples, int64_t work, const Body& body) {
  const int64_t parts =
      in_parallel_region()
          ? 1
          : std::max<int64_t>(1, std::min({static_cast<int64_t>(num_threads()),
                                           samples / kLeastRows, work / kRecurrentWork}));
  if (parts == 1) return body(SampleSet{0, 1, samples});
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) body(SampleSet{part, parts, samples});
  });
}

/// Calls body.operator()<C, Cell>() for a mode of nn.RNN, GRU or LSTM.
template <class Body>
void with_cell(DType dtype, std::string_view mode, const Body& body) {
  const auto in = [&]<class C>() {
    if (mode == "LSTM") return body.template operator()<C, LstmCell<C>>();
    if (mode == "GRU") return body.template operator()<C, GruCell<C>>();
    if (mode == "RNN_TANH") return body.template operator()<C, ElmanCell<C, false>>();
    return body.template operator()<C, ElmanCell<C, true>>();
  };
  if (dtype == DType::float32) return in.template operator()<float>();
  check(dtype == DType::float64, ErrorKind::runtime,
        "recurrence(): expected float32 or float64, got ", name(dtype));
  in.template operator()<double>();
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
