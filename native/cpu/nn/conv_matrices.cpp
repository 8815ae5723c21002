#include "cpu/nn/conv_matrices.h"

#include <algorithm>
#include <vector>

#include "core/backends/half_products.h"
#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/matrix_conv.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kLeastChannels = 16;       // fewer leave registers half empty
constexpr int64_t kSourceBytes = 512 << 10;  // of pairs, beside a panel of filters: both stay in L2
constexpr int64_t kBlockPositions = 512;     // of sums that wait to be written out
constexpr int64_t kThreadWork = 4'000'000;   // multiplications that pay for a thread
constexpr int64_t kPanelsOfThread = 2;       // leave none idle for long
constexpr int64_t kSetBytes = 2048;          // lines so far apart share sets of L1

int64_t shared(int64_t all, int64_t parts) { return (all + parts - 1) / parts; }

/// What rows of the source are longer by than those of the result.
int64_t halo_of(const std::vector<int64_t>& taps, int64_t stride) {
  return *std::max_element(taps.begin(), taps.end()) / stride;
}

/// A correlation whose source is copied to planes of pairs of channels. Positions follow each other
/// through the rows of a plane, and what those behind the end of a row find is left.
class MatrixCorrelation {
  using Task = Correlation<bfloat16>;

 public:
  explicit MatrixCorrelation(const Task& task)
      : task_(task), planes_(task.planes), kernels_(matrix_conv_kernels()) {
    const int64_t channels = task.weights.majors;
    pairs_ = shared(channels, 2 * kMatrixPairs) * kMatrixPairs;
    planes_.channels = shared(channels, 2);
    planes_.pitch = task.columns + halo_of(task.tap_columns, planes_.column_stride);
    panels_ = shared(task.weights.outputs, kMatrixOutputs);
    panel_size_ = kMatrixOutputs * pairs_ * task.weights.tap_count;
    cut(halo_of(task.tap_rows, planes_.row_stride));
    for (int64_t pair = 0; pair < pairs_; pair += kMatrixPairs)
      for (size_t t = 0; t < task.tap_rows.size(); ++t)
        offsets_.push_back(pair * planes_.channel() +
                           planes_.offset(task.tap_rows[t], task.tap_columns[t]));
  }

  void run() const {
    if (has_more_filters()) return run_panels();
    const int64_t panels = task_.groups * panels_;
    const Tensor owner = empty(Shape{panels * panel_size_}, DType::float32);
    auto* const packed = static_cast<Bfloat16Pair*>(owner.raw_data());
    parallel_for(0, panels, std::max<int64_t>(1, kGrain / panel_size_),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) pack(i, packed + i * panel_size_);
                 });
    const int64_t strips = shared(task_.rows, item_rows_);
    const int64_t items = shared(task_.batch, images_) * task_.groups * strips;
    const int64_t work = images_ * item_rows_ * task_.columns * panels_ * panel_size_;
    parallel_for(0, items, std::max<int64_t>(1, kThreadWork / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t group = i / strips % task_.groups;
                     const int64_t image = i / strips / task_.groups * images_;
                     run_item(group, image, i % strips * item_rows_,
                              packed + group * panels_ * panel_size_);
                   }
                 });
  }

 private:
  int64_t image_step() const { return pairs_ * planes_.channel(); }

  /// How many rows of how many images are copied at a time.
  void cut(int64_t halo) {
    const int64_t row_bytes =
        pairs_ * planes_.row_stride * planes_.column_stride * planes_.pitch * 4;
    const int64_t threads = shared(num_threads(), task_.batch * task_.groups);
    const int64_t most = std::clamp<int64_t>(kSourceBytes / row_bytes - halo, 1, task_.rows);
    const int64_t strips = std::max(shared(task_.rows, most), std::min(threads, task_.rows));
    item_rows_ = shared(task_.rows, strips);
    planes_.height = item_rows_ + halo;
    if (const int64_t bytes = planes_.plane() * 4 % kSetBytes;
        std::min(bytes, kSetBytes - bytes) < 64)
      ++planes_.height;
    if (item_rows_ == task_.rows) {
      const int64_t near = kSourceBytes / (image_step() * 4);
      images_ = std::clamp<int64_t>(near, 1, shared(task_.batch, num_threads()));
    }
    block_rows_ = std::clamp<int64_t>(kBlockPositions / planes_.pitch, 1, item_rows_);
  }

  /// Whether there is more of the filters than of the images, and enough for all threads: a panel
  /// is then packed where it is used, and taken to all the images.
  bool has_more_filters() const {
    return item_rows_ == task_.rows && task_.batch * image_step() <= panels_ * panel_size_ &&
           task_.groups * panels_ >= kPanelsOfThread * num_threads();
  }

  void pack(int64_t panel, Bfloat16Pair* packed) const {
    ConvWeights<bfloat16> weights = task_.weights;
    weights.data += panel / panels_ * task_.weight_group_step;
    kernels_.pack(weights, panel % panels_, packed);
  }

  /// The pairs of an image, for results from row `first` on.
  void copy_pairs(int64_t group, int64_t image, int64_t first, Bfloat16Pair* to) const {
    const int64_t channels = task_.weights.majors, size = channels * planes_.rows * planes_.columns;
    pad_pairs(planes_, channels, first, task_.source + (image * task_.groups + group) * size, to);
    std::fill_n(to + planes_.channels * planes_.channel(),
                (pairs_ - planes_.channels) * planes_.channel(), 0);
  }

  void run_panels() const {
    const int64_t images = task_.groups * task_.batch, size = image_step();
    const Tensor owner = empty(Shape{images * size + kMatrixOverrun}, DType::float32);
    auto* const source = static_cast<Bfloat16Pair*>(owner.raw_data());
    parallel_for(0, images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        copy_pairs(i / task_.batch, i % task_.batch, 0, source + i * size);
    });
    parallel_for(0, task_.groups * panels_, 1, [&](int64_t begin, int64_t end) {
      auto* const packed = scratch<Bfloat16Pair>(3, static_cast<size_t>(panel_size_));
      for (int64_t i = begin; i < end; ++i) {
        pack(i, packed);
        check_interrupt();
        const int64_t group = i / panels_;
        for (int64_t n = 0; n < task_.batch; ++n)
          run_rows(group, n, 0, task_.rows, i % panels_, packed,
                   source + (group * task_.batch + n) * size);
      }
    });
  }

  void run_item(int64_t group, int64_t image, int64_t first, const Bfloat16Pair* packed) const {
    const int64_t images = std::min(images_, task_.batch - image), size = image_step();
    auto* const source =
        scratch<Bfloat16Pair>(0, static_cast<size_t>(images * size + kMatrixOverrun));
    for (int64_t n = 0; n < images; ++n) copy_pairs(group, image + n, first, source + n * size);
    const int64_t last = std::min(first + item_rows_, task_.rows);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      check_interrupt();
      for (int64_t n = 0; n < images; ++n)
        run_rows(group, image + n, first, last, panel, packed + panel * panel_size_,
                 source + n * size);
    }
  }

  /// A panel's outputs at rows [first, last) of an image, whose pairs are of these rows.
  void run_rows(int64_t group, int64_t image, int64_t first, int64_t last, int64_t panel,
                const Bfloat16Pair* packed, const Bfloat16Pair* source) const {
    const int64_t output = panel * kMatrixOutputs;
    const int64_t outputs = std::min(kMatrixOutputs, task_.weights.outputs - output);
    const int64_t channel = group * task_.weights.outputs + output;
    bfloat16* const result =
        task_.result + image * task_.image_step + channel * task_.channel_step;
    const int64_t step = shared(block_rows_ * planes_.pitch, 32) * 32 + 16;  // in other sets of L1
    auto* const sums = scratch<float>(1, static_cast<size_t>(kMatrixOutputs * step));
    for (int64_t row = first; row < last; row += block_rows_) {
      const int64_t rows = std::min(block_rows_, last - row);
      kernels_.forward({static_cast<int64_t>(offsets_.size()),
                        (rows - 1) * planes_.pitch + task_.columns, packed, offsets_.data(),
                        source + (row - first) * planes_.pitch, planes_.channel(), sums, step});
      for (int64_t k = 0; k < outputs; ++k)
        write(sums + k * step, task_.bias ? static_cast<float>(task_.bias[channel + k]) : 0, rows,
              result + k * task_.channel_step + row * task_.row_step);
    }
  }

  void write(const float* sums, float shift, int64_t rows, bfloat16* to) const {
    const int64_t columns = task_.columns;
    if (task_.column_step == 1 && task_.row_step == columns && planes_.pitch == columns)
      return kernels_.finish_row(sums, shift, rows * columns, to);
    for (int64_t i = 0; i < rows; ++i, sums += planes_.pitch, to += task_.row_step) {
      if (task_.column_step == 1) {
        kernels_.finish_row(sums, shift, columns, to);
        continue;
      }
      auto* const line = scratch<bfloat16>(2, static_cast<size_t>(columns));
      kernels_.finish_row(sums, shift, columns, line);
      for (int64_t j = 0; j < columns; ++j) to[j * task_.column_step] = line[j];
    }
  }

  const Task& task_;
  PaddedPlanes planes_;
  const MatrixConvKernels& kernels_;
  int64_t pairs_, panels_, panel_size_;
  int64_t images_ = 1, item_rows_ = 0, block_rows_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace

bool convolves_matrices(const ConvGeometry& geometry, DType dtype) {
  return dtype == DType::bfloat16 && has_matrix_products() && has_paired_products() &&
         std::min(geometry.in_channels, geometry.out_channels) >= kLeastChannels;
}

void correlate_matrices(const Correlation<bfloat16>& task) {
  if (task.batch == 0 || task.rows <= 0 || task.columns <= 0) return;
  MatrixCorrelation(task).run();
}

}  // namespace flambeau::cpu
