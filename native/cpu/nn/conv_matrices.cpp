#include "cpu/nn/conv_matrices.h"

#include "core/backends/half_products.h"
#include "cpu/nn/matrix_layout.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kLeastOutputs = 16;     // fewer leave registers half empty
constexpr int64_t kBlockPositions = 512;  // of sums that wait to be written out
constexpr int64_t kSetBytes = 2048;       // lines so far apart share sets of L1
constexpr int64_t kPixelBytes = 256;      // so do many pixels under a filter that are so far apart

/// Row-major images are copied to planes of pairs of channels. Positions follow each other through
/// the rows of a plane, and what those behind the end of a row find is left.
class PairPlanes : public MatrixLayout {
 public:
  using Element = Bfloat16Pair;

  explicit PairPlanes(const Task& task) : MatrixLayout(task) {
    planes_.channels = shared(task.weights.majors, 2);
    cut(pairs_ * planes_.row_stride * planes_.column_stride * planes_.pitch * 4);
    if (const int64_t bytes = planes_.plane() * 4 % kSetBytes;
        std::min(bytes, kSetBytes - bytes) < 64)
      ++planes_.height;
    block_rows_ = std::clamp<int64_t>(kBlockPositions / planes_.pitch, 1, item_rows_);
    for (int64_t pair = 0; pair < pairs_; pair += kMatrixPairs)
      for (size_t t = 0; t < task.tap_rows.size(); ++t)
        offsets_.push_back(pair * planes_.channel() +
                           planes_.offset(task.tap_rows[t], task.tap_columns[t]));
  }

  int64_t image_step() const { return pairs_ * planes_.channel(); }
  int64_t overrun() const { return kMatrixOverrun; }

  void pack(const ConvWeights<bfloat16>& weights, int64_t panel, Bfloat16Pair* packed) const {
    kernels_.pack(weights, panel, packed);
  }

  void copy(int64_t group, int64_t image, int64_t first, Bfloat16Pair* to) const {
    const int64_t channels = task_.weights.majors, size = channels * planes_.rows * planes_.columns;
    pad_pairs(planes_, channels, first, task_.source + (image * task_.groups + group) * size, to);
    std::fill_n(to + planes_.channels * planes_.channel(),
                (pairs_ - planes_.channels) * planes_.channel(), 0);
  }

  void run_rows(int64_t group, int64_t image, int64_t first, int64_t last, int64_t panel,
                const Bfloat16Pair* packed, const Bfloat16Pair* source) const {
    const int64_t output = panel * kMatrixOutputs;
    const int64_t outputs = std::min(kMatrixOutputs, task_.weights.outputs - output);
    const int64_t channel = group * task_.weights.outputs + output;
    bfloat16* const result = task_.result + image * task_.image_step + channel * task_.channel_step;
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

 private:
  void write(const float* sums, float shift, int64_t rows, bfloat16* to) const {
    const int64_t columns = task_.columns;
    if (task_.column_step == 1 && task_.row_step == columns && planes_.pitch == columns)
      return kernels_.finish_row(sums, shift, rows * columns, to, 1);
    for (int64_t i = 0; i < rows; ++i, sums += planes_.pitch, to += task_.row_step)
      kernels_.finish_row(sums, shift, columns, to, task_.column_step);
  }

  int64_t block_rows_ = 0;
  std::vector<int64_t> offsets_;
};

/// Channels-last images, of one group, are copied to planes of pixels.
class PixelPlanes : public MatrixLayout {
 public:
  using Element = bfloat16;

  explicit PixelPlanes(const Task& task) : MatrixLayout(task), pixel_(2 * pairs_) {
    if (pixel_ * 2 % kPixelBytes == 0) pixel_ += 2 * kMatrixPairs;
    cut(pixel_ * planes_.row_stride * planes_.column_stride * planes_.pitch * 2);
    for (int64_t pair = 0; pair < pairs_; pair += kMatrixPairs)
      for (size_t t = 0; t < task.tap_rows.size(); ++t)
        offsets_.push_back(planes_.offset(task.tap_rows[t], task.tap_columns[t]) * pixel_ +
                           2 * pair);
  }

  int64_t image_step() const { return planes_.channel() * pixel_; }
  int64_t overrun() const { return kMatrixOverrun * pixel_; }

  void pack(const ConvWeights<bfloat16>& weights, int64_t panel, Bfloat16Pair* packed) const {
    kernels_.pack_turned(weights, panel, packed);
  }

  void copy(int64_t, int64_t image, int64_t first, bfloat16* to) const {
    const int64_t channels = task_.weights.majors;
    const bfloat16* const from = task_.source + image * planes_.rows * planes_.columns * channels;
    for (int64_t a = 0; a < planes_.row_stride; ++a)
      for (int64_t b = 0; b < planes_.column_stride; ++b)
        for (int64_t i = 0; i < planes_.height; ++i, to += planes_.pitch * pixel_) {
          const int64_t y = (first + i) * planes_.row_stride + a - planes_.top;
          if (y < 0 || y >= planes_.rows)
            std::fill_n(to, planes_.pitch * pixel_, bfloat16(0));
          else
            copy_row(from + y * planes_.columns * channels, b - planes_.left, to);
        }
  }

  void run_rows(int64_t, int64_t image, int64_t first, int64_t last, int64_t panel,
                const Bfloat16Pair* packed, const bfloat16* source) const {
    const int64_t output = panel * kMatrixOutputs, all = task_.weights.outputs;
    kernels_.forward_pixels(
        {static_cast<int64_t>(offsets_.size()), last - first, task_.columns, planes_.pitch, packed,
         offsets_.data(), source, pixel_, std::min(kMatrixOutputs, all - output),
         task_.bias ? task_.bias + output : nullptr,
         task_.result + image * task_.image_step + first * task_.row_step * all + output,
         task_.row_step * all, task_.column_step * all});
  }

 private:
  /// Pixels `left`, and those that follow a stride apart, among zeros.
  void copy_row(const bfloat16* from, int64_t left, bfloat16* to) const {
    const int64_t channels = task_.weights.majors, step = planes_.column_stride;
    const auto zeros = [&](int64_t begin, int64_t end) {
      std::fill(to + begin * pixel_, to + end * pixel_, bfloat16(0));
    };
    const auto whole = [&](int64_t count) {
      return std::clamp<int64_t>((count + step - 1) / step, 0, planes_.pitch);
    };
    const int64_t begin = whole(-left), end = std::max(whole(planes_.columns - left), begin);
    zeros(0, begin);
    if (step == 1 && pixel_ == channels) {
      std::copy_n(from + (left + begin) * channels, (end - begin) * channels, to + begin * pixel_);
    } else {
      kernels_.copy_pixels(from + (left + begin * step) * channels, step * channels, end - begin,
                           channels, to + begin * pixel_, pixel_);
    }
    zeros(end, planes_.pitch);
  }

  int64_t pixel_;
  std::vector<int64_t> offsets_;
};

}  // namespace

bool convolves_matrices(const ConvGeometry& geometry, DType dtype, int64_t least_inputs) {
  return dtype == DType::bfloat16 && has_matrix_products() && has_paired_products() &&
         geometry.in_channels >= least_inputs && geometry.out_channels >= kLeastOutputs;
}

void correlate_matrices(const Correlation<bfloat16>& task) {
  if (task.batch == 0 || task.rows <= 0 || task.columns <= 0) return;
  if (task.by_pixels)
    MatrixWork<PixelPlanes>(PixelPlanes(task)).run();
  else
    MatrixWork<PairPlanes>(PairPlanes(task)).run();
}

}  // namespace flambeau::cpu
