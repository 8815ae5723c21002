#pragma once

#include <algorithm>
#include <vector>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/correlation.h"
#include "cpu/nn/matrix_conv.h"

// How correlations in matrix registers are cut: threads share images, or rows of them, or panels of
// filters.

namespace flambeau::cpu {

/// What copies of images look like, and how many are made at a time.
class MatrixLayout {
 public:
  using Task = Correlation<bfloat16>;

  const Task& task() const { return task_; }
  int64_t panels() const { return panels_; }
  int64_t panel_size() const { return panel_size_; }
  int64_t images() const { return images_; }
  int64_t item_rows() const { return item_rows_; }

 protected:
  explicit MatrixLayout(const Task& task)
      : task_(task), planes_(task.planes), kernels_(matrix_conv_kernels()) {
    pairs_ = shared(task.weights.majors, 2 * kMatrixPairs) * kMatrixPairs;
    panels_ = shared(task.weights.outputs, kMatrixOutputs);
    panel_size_ = kMatrixOutputs * pairs_ * task.weights.tap_count;
    planes_.pitch = task.columns + halo_of(task.tap_columns, planes_.column_stride);
    halo_ = halo_of(task.tap_rows, planes_.row_stride);
  }

  /// Finds how many rows of how many images are copied at a time, of whose rows each has so many
  /// bytes.
  void cut(int64_t row_bytes) {
    const int64_t threads = shared(num_threads(), task_.batch * task_.groups);
    const int64_t most = std::clamp<int64_t>(kSourceBytes / row_bytes - halo_, 1, task_.rows);
    const int64_t strips = std::max(shared(task_.rows, most), std::min(threads, task_.rows));
    item_rows_ = shared(task_.rows, strips);
    planes_.height = item_rows_ + halo_;
    if (item_rows_ < task_.rows) return;
    const int64_t near = kSourceBytes / (row_bytes * planes_.height);
    images_ = std::clamp<int64_t>(near, 1, shared(task_.batch, num_threads()));
  }

  static int64_t shared(int64_t all, int64_t parts) { return (all + parts - 1) / parts; }

  const Task& task_;
  PaddedPlanes planes_;
  const MatrixConvKernels& kernels_;
  int64_t pairs_, panels_, panel_size_, halo_;
  int64_t images_ = 1, item_rows_ = 0;

 private:
  /// Of a copy, beside a panel of filters: both stay in L2.
  static constexpr int64_t kSourceBytes = 512 << 10;

  /// What rows of the source are longer by than those of the result.
  static int64_t halo_of(const std::vector<int64_t>& taps, int64_t stride) {
    return *std::max_element(taps.begin(), taps.end()) / stride;
  }
};

/// A Layout has, beside the above,
/// - Element, image_step(), the elements of an image's copy, and overrun(), those that are read
///   behind the last;
/// - copy(group, image, first row of results, to);
/// - pack(weights, panel, to);
/// - run_rows(group, image, first row, last, panel, packed, source): a panel's outputs at some rows
///   of an image, of which the copy is.
template <class Layout>
class MatrixWork {
  using Element = typename Layout::Element;

 public:
  explicit MatrixWork(const Layout& layout) : layout_(layout), task_(layout.task()) {}

  void run() const {
    if (has_more_filters()) return run_panels();
    const int64_t panels = task_.groups * layout_.panels(), size = layout_.panel_size();
    const Tensor owner = empty(Shape{panels * size}, DType::float32);
    auto* const packed = static_cast<Bfloat16Pair*>(owner.raw_data());
    parallel_for(0, panels, std::max<int64_t>(1, kGrain / size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) pack(i, packed + i * size);
    });
    const int64_t rows = layout_.item_rows(), strips = (task_.rows + rows - 1) / rows;
    const int64_t sets = (task_.batch + layout_.images() - 1) / layout_.images();
    const int64_t work = layout_.images() * rows * task_.columns * layout_.panels() * size;
    parallel_for(0, sets * task_.groups * strips, std::max<int64_t>(1, kThreadWork / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t group = i / strips % task_.groups;
                     run_item(group, i / strips / task_.groups * layout_.images(),
                              i % strips * rows, packed + group * layout_.panels() * size);
                   }
                 });
  }

 private:
  static constexpr int64_t kThreadWork = 4'000'000;  // multiplications that pay for a thread
  static constexpr int64_t kPanelsOfThread = 2;      // leave none idle for long
  static constexpr DType kOwner =
      std::is_same_v<Element, bfloat16> ? DType::bfloat16 : DType::float32;

  /// Whether there is more of the filters than of the images, and enough for all threads: a panel
  /// is then packed where it is used, and taken to all the images.
  bool has_more_filters() const {
    const int64_t images =
        task_.batch * layout_.image_step() * static_cast<int64_t>(sizeof(Element));
    return layout_.item_rows() == task_.rows &&
           images <= layout_.panels() * layout_.panel_size() * 4 &&
           task_.groups * layout_.panels() >= kPanelsOfThread * num_threads();
  }

  void pack(int64_t panel, Bfloat16Pair* packed) const {
    ConvWeights<bfloat16> weights = task_.weights;
    weights.data += panel / layout_.panels() * task_.weight_group_step;
    layout_.pack(weights, panel % layout_.panels(), packed);
  }

  void run_panels() const {
    const int64_t images = task_.groups * task_.batch, size = layout_.image_step();
    const Tensor owner = empty(Shape{images * size + layout_.overrun()}, kOwner);
    auto* const source = static_cast<Element*>(owner.raw_data());
    parallel_for(0, images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        layout_.copy(i / task_.batch, i % task_.batch, 0, source + i * size);
    });
    parallel_for(0, task_.groups * layout_.panels(), 1, [&](int64_t begin, int64_t end) {
      auto* const packed = scratch<Bfloat16Pair>(3, static_cast<size_t>(layout_.panel_size()));
      for (int64_t i = begin; i < end; ++i) {
        pack(i, packed);
        check_interrupt();
        const int64_t group = i / layout_.panels();
        for (int64_t n = 0; n < task_.batch; ++n)
          layout_.run_rows(group, n, 0, task_.rows, i % layout_.panels(), packed,
                           source + (group * task_.batch + n) * size);
      }
    });
  }

  void run_item(int64_t group, int64_t image, int64_t first, const Bfloat16Pair* packed) const {
    const int64_t images = std::min(layout_.images(), task_.batch - image);
    const int64_t size = layout_.image_step();
    auto* const source =
        scratch<Element>(0, static_cast<size_t>(images * size + layout_.overrun()));
    for (int64_t n = 0; n < images; ++n) layout_.copy(group, image + n, first, source + n * size);
    const int64_t last = std::min(first + layout_.item_rows(), task_.rows);
    for (int64_t panel = 0; panel < layout_.panels(); ++panel) {
      check_interrupt();
      for (int64_t n = 0; n < images; ++n)
        layout_.run_rows(group, image + n, first, last, panel,
                         packed + panel * layout_.panel_size(), source + n * size);
    }
  }

  const Layout& layout_;
  const MatrixLayout::Task& task_;
};

}  // namespace flambeau::cpu
