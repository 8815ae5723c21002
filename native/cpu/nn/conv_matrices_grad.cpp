#include <algorithm>
#include <vector>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/matrix_conv.h"
#include "cpu/nn/winograd.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kSide = 32;                 // channels and outputs of a block of sums
constexpr int64_t kSteps = 16;                // whose factors stay in L1 while all taps meet them
constexpr int64_t kItemBytes = 512 << 10;     // of channels and of gradients: both stay in L2
constexpr int64_t kNearBytes = 1 << 20;       // of all images': they stay in L2
constexpr int64_t kPartWork = 16'000'000;     // multiplications that pay for sums of a thread's own
constexpr int64_t kFinishedWork = 1'000'000;  // and for a thread

int64_t shared(int64_t all, int64_t parts) { return (all + parts - 1) / parts; }

/// Channels are copied to planes with a border, gradients to lines whose rows are as long as those,
/// with zeros behind them: a product over positions meets both in order.
class MatrixWeightGrad {
 public:
  MatrixWeightGrad(const ConvGeometry& geometry, const bfloat16* grad, const bfloat16* input,
                   bfloat16* result)
      : g_(geometry),
        grad_(grad),
        input_(input),
        result_(result),
        planes_(padded_planes(geometry, 0, 0)),
        kernels_(matrix_conv_kernels()),
        taps_(geometry.kernel_size()),
        channel_blocks_(shared(geometry.in_channels, kSide)),
        output_blocks_(shared(geometry.out_channels, kSide)) {
    const auto& [rows, columns] = g_.axes;
    planes_.pitch = columns.output + (columns.kernel - 1) * columns.dilation / columns.stride;
    const int64_t row_bytes =
        std::max(g_.in_channels * rows.stride * columns.stride, g_.out_channels) * planes_.pitch *
        2;
    halo_ = (rows.kernel - 1) * rows.dilation / rows.stride;
    const int64_t most = std::clamp<int64_t>(kItemBytes / row_bytes - halo_, 1, rows.output);
    const int64_t threads = std::min(shared(num_threads(), g_.batch * g_.groups), rows.output);
    strips_ = std::max(shared(rows.output, most), threads);
    rows_ = shared(rows.output, strips_);
    strips_ = shared(rows.output, rows_);
    planes_.height = rows_ + halo_;
    for (int64_t r = 0; r < rows.kernel; ++r)
      for (int64_t s = 0; s < columns.kernel; ++s)
        offsets_.push_back(planes_.offset(r * rows.dilation, s * columns.dilation));
    steps_ = shared((rows_ - 1) * planes_.pitch + columns.output, 32);
  }

  bool run() const {
    const int64_t items = g_.batch * strips_;
    const int64_t bytes = items * g_.groups * (source_size() + 2 * grads_size()) * 2;
    const int64_t blocks = g_.groups * channel_blocks_ * output_blocks_;
    const int64_t sums = blocks * block_size() * 4;
    if (bytes <= std::max(kNearBytes, sums) && blocks >= num_threads()) return run_blocks();
    return run_items();
  }

 private:
  int64_t source_size() const {
    return channel_blocks_ * kSide * planes_.channel() + kMatrixOverrun;
  }
  int64_t grads_size() const { return output_blocks_ * grads_block(steps_); }
  static int64_t grads_block(int64_t steps) { return steps * 16 * kSide; }  // of pairs
  int64_t block_size() const { return taps_ * kSide * kSide; }

  /// Steps over positions that are done at a time.
  struct Steps {
    std::vector<int64_t> places;
    int64_t count() const { return static_cast<int64_t>(places.size()); }
  };
  Steps steps_of(int64_t items) const {
    Steps result;
    for (int64_t item = 0; item < items; ++item)
      for (int64_t step = 0; step < steps_; ++step)
        result.places.push_back(item * source_size() + step * 32);
    return result;
  }

  /// Item `item` of a group: an image, or some rows of it.
  void copy_source(int64_t group, int64_t item, bfloat16* to) const {
    const int64_t image = item / strips_ * g_.groups + group;
    pad_planes(planes_, item % strips_ * rows_, input_ + image * g_.in_channels * g_.input_plane(),
               to);
    // What is read behind the last position meets zeros.
    std::fill_n(to + planes_.channels * planes_.channel(), kMatrixOverrun, bfloat16(0));
  }

  /// The gradients of an item, packed at `step` of `steps` for each block of outputs.
  void copy_grads(int64_t group, int64_t item, int64_t step, int64_t steps,
                  Bfloat16Pair* to) const {
    const int64_t image = item / strips_ * g_.groups + group, plane = g_.output_plane();
    const int64_t columns = g_.axes[1].output, first = item % strips_ * rows_;
    const int64_t rows = std::min(rows_, g_.axes[0].output - first);
    const int64_t filled = rows * planes_.pitch, line = std::max(steps_ * 32, filled);
    auto* const lines = scratch<bfloat16>(3, static_cast<size_t>(kSide * line));
    for (int64_t k = 0; k < g_.out_channels; k += kSide) {
      const int64_t outputs = std::min(kSide, g_.out_channels - k);
      for (int64_t i = 0; i < outputs; ++i) {
        const bfloat16* const from =
            grad_ + (image * g_.out_channels + k + i) * plane + first * columns;
        conv_kernels<bfloat16>().pad_rows({from, columns, 1, rows, 0, columns, planes_.pitch},
                                          lines + i * line);
        std::fill(lines + i * line + filled, lines + (i + 1) * line, bfloat16(0));
      }
      kernels_.pack_grads(lines, line, outputs, steps_,
                          to + k / kSide * grads_block(steps) + grads_block(step));
    }
  }

  /// Adds what all steps make of a block of sums.
  void add_block(int64_t block, const Steps& steps, const bfloat16* source,
                 const Bfloat16Pair* grads, float* sums, bool adds) const {
    check_interrupt();
    const int64_t channel = block / output_blocks_ * kSide;
    grads += block % output_blocks_ * grads_block(steps.count());
    for (int64_t i = 0; i < steps.count(); i += kSteps)
      kernels_.add_products({std::min(kSteps, steps.count() - i), taps_, steps.places.data() + i,
                             offsets_.data(), source + channel * planes_.channel(),
                             planes_.channel(), grads + grads_block(i), sums, adds || i > 0});
  }

  bool finish(int64_t group, int64_t block, const float* sums) const {
    const int64_t channel = block / output_blocks_ * kSide;
    const int64_t output = block % output_blocks_ * kSide, row = g_.in_channels * taps_;
    return kernels_.finish_grads(
        {std::min(kSide, g_.in_channels - channel), std::min(kSide, g_.out_channels - output),
         taps_, sums, result_ + (group * g_.out_channels + output) * row + channel * taps_, row});
  }

  /// Threads share blocks of sums, each of which meets all positions.
  bool run_blocks() const {
    const int64_t items = g_.batch * strips_, all = items * g_.groups;
    const int64_t blocks = channel_blocks_ * output_blocks_;
    const Steps steps = steps_of(items);
    const int64_t group_grads = output_blocks_ * grads_block(steps.count());
    const Tensor source_owner = empty(Shape{all * source_size()}, DType::bfloat16);
    const Tensor grads_owner = empty(Shape{g_.groups * group_grads}, DType::float32);
    auto* const source = source_owner.data<bfloat16>();
    auto* const grads = static_cast<Bfloat16Pair*>(grads_owner.raw_data());
    parallel_for(0, 2 * all, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / 2 / items, item = i / 2 % items;
        if (i % 2)
          copy_source(group, item, source + i / 2 * source_size());
        else
          copy_grads(group, item, item * steps_, steps.count(), grads + group * group_grads);
      }
    });
    const int64_t work = steps.count() * 32 * block_size();
    return all_of(g_.groups * blocks, std::max<int64_t>(1, kFinishedWork / work), [&](int64_t i) {
      const int64_t group = i / blocks;
      auto* const sums = scratch<float>(1, static_cast<size_t>(block_size()));
      add_block(i % blocks, steps, source + group * items * source_size(),
                grads + group * group_grads, sums, false);
      return finish(group, i % blocks, sums);
    });
  }

  /// Threads share images, or rows of them, and have sums of their own.
  bool run_items() const {
    const int64_t items = g_.batch * strips_, blocks = channel_blocks_ * output_blocks_;
    const int64_t size = blocks * block_size();
    const int64_t work = items * steps_ * 32 * size;
    const int64_t parts =
        std::clamp<int64_t>(std::min<int64_t>(num_threads(), work / kPartWork), 1, items);
    const Steps steps = steps_of(1);
    const Tensor owner = empty(Shape{parts * size}, DType::float32);
    float* const sums = owner.data<float>();
    for (int64_t group = 0; group < g_.groups; ++group) {
      parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
        auto* const source = scratch<bfloat16>(0, static_cast<size_t>(source_size()));
        auto* const grads = scratch<Bfloat16Pair>(1, static_cast<size_t>(grads_size()));
        for (int64_t part = begin; part < end; ++part) {
          const int64_t first = items * part / parts;
          for (int64_t item = first; item < items * (part + 1) / parts; ++item) {
            copy_source(group, item, source);
            copy_grads(group, item, 0, steps_, grads);
            for (int64_t block = 0; block < blocks; ++block)
              add_block(block, steps, source, grads, sums + part * size + block * block_size(),
                        item > first);
          }
        }
      });
      const bool done = all_of(blocks, 1, [&](int64_t block) {
        float* const mine = sums + block * block_size();
        for (int64_t part = 1; part < parts; ++part)
          for (int64_t i = 0; i < block_size(); ++i) mine[i] += mine[part * size + i];
        return finish(group, block, mine);
      });
      if (!done) return false;
    }
    return true;
  }

  const ConvGeometry& g_;
  const bfloat16 *grad_, *input_;
  bfloat16* result_;
  PaddedPlanes planes_;
  const MatrixConvKernels& kernels_;
  int64_t taps_, channel_blocks_, output_blocks_;
  int64_t halo_ = 0, rows_ = 0, strips_ = 1, steps_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace

bool try_matrices_weight_grad(const ConvGeometry& geometry, const bfloat16* grad,
                              const bfloat16* input, bfloat16* result) {
  if (geometry.kernel_size() > kMatrixTaps) return false;
  return MatrixWeightGrad(geometry, grad, input, result).run();
}

}  // namespace flambeau::cpu
