#pragma once

/// What recurrences and their gradients share: packed weights, and where the rows of steps lie.
/// Include only from *.simd.cpp files.

#include <memory>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/threads/interrupt.h"
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

/// Weights in the order in which tiles read them, for the products of all steps. Columns form
/// groups (gates), one after the other; a panel holds some columns, the same of each group.
template <class C>
class PackedWeights {
 public:
  PackedWeights(const MatrixView<C>& matrix, int64_t depth, int64_t columns, int64_t groups = 1)
      : depth_(depth), columns_(columns), groups_(groups) {
    packed_ = empty(Shape{std::max<int64_t>(1, panels() * groups * kWidth * depth)}, dtype_of<C>);
    C* const to = packed_.data<C>();
    for_rows(panels() * groups, kWidth * depth, 2, [=, this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / groups_ * kWidth;
        pack_b(matrix.at(0, i % groups_ * columns_ + first), depth_, width_at(first),
               to + i * kWidth * depth_);
      }
    });
  }

  int64_t panels() const { return (columns_ + kWidth - 1) / kWidth; }
  int64_t count() const { return packed_.numel(); }
  /// The columns of panels [begin, end) in each group.
  Units units(int64_t begin, int64_t end) const {
    return {begin * kWidth, std::min(end * kWidth, columns_)};
  }

  /// c = a @ weights + beta c (+ bias), of panels [begin, end). Rows of a are dense.
  void multiply(int64_t begin, int64_t end, int64_t rows, const C* a, int64_t lda, C* c,
                int64_t ldc, C beta, const C* bias) const {
    if (rows == 0) return;
    const int64_t blocks = (rows + kTileRows - 1) / kTileRows, block = (rows + blocks - 1) / blocks;
    const C* packed = packed_.data<C>() + begin * groups_ * kWidth * depth_;
    for (int64_t panel = begin * groups_; panel < end * groups_; ++panel) {
      const int64_t first = panel / groups_ * kWidth, j = panel % groups_ * columns_ + first;
      for (int64_t i = 0; i < rows; i += block)
        run_tile(std::min(block, rows - i), width_at(first), depth_,
                 StridedRows<C>{a + i * lda, lda, 1}, SteppedLines<C>{packed, kWidth},
                 Epilogue<C>{c + i * ldc + j, ldc, C(1), beta, bias ? bias + j : nullptr});
      packed += kWidth * depth_;
    }
  }

 private:
  static constexpr int64_t kWidth = kTileColumns<C>;
  int64_t width_at(int64_t column) const { return std::min(kWidth, columns_ - column); }
  int64_t depth_, columns_, groups_;
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
  /// Whether no step of the sample is computed after this one.
  bool is_last(int64_t step, int64_t sample) const {
    const int64_t next = is_reverse_ ? step - 1 : step + 1;
    return next < 0 || next >= count() || sample >= size(next);
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

/// Calls stage(k, set, begin, end) for k in [0, stages), each after the one before: for all samples
/// and all panels of the weights, by as many threads as it pays for. Each takes some samples
/// through all stages or, where there are too few of them, some panels in each stage.
template <class C, class Stage>
void run_stages(int64_t stages, int64_t samples, const PackedWeights<C>& weights,
                const Stage& stage) {
  const int64_t threads = in_parallel_region() ? 1 : num_threads(), panels = weights.panels();
  const int64_t work = samples * weights.count();
  const auto parts_of = [&](int64_t most, int64_t multiplications) {
    return std::max<int64_t>(1, std::min({threads, most, multiplications / kRecurrentWork}));
  };
  const int64_t by_samples = parts_of(samples / kLeastRows, work * stages);
  const int64_t by_panels = parts_of(panels, work);
  if (by_panels > by_samples) {
    const int64_t grain = (panels + by_panels - 1) / by_panels;
    for (int64_t k = 0; k < stages; ++k)
      parallel_for(0, panels, grain, [&](int64_t begin, int64_t end) {
        stage(k, SampleSet{0, 1, samples}, begin, end);
      });
    return;
  }
  parallel_for(0, by_samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      for (int64_t k = 0; k < stages; ++k) {
        check_interrupt();
        stage(k, SampleSet{part, by_samples, samples}, 0, panels);
      }
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
