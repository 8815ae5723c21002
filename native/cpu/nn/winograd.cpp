#include "cpu/nn/winograd.h"

#include <algorithm>
#include <atomic>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/nn/correlation.h"
#include "cpu/nn/tap_square.h"

namespace flambeau::cpu {
namespace {

// Fewer channels do not pay for the transforms. Measured with 16 channels and 32x32 images, where a
// direct convolution takes as long.
constexpr int64_t kChannels = 16;
// Reading 16 numbers for each filter's 9 costs more than it saves when they are used for few
// blocks: 512 x 512 channels are faster from some 30 blocks on. (Its gradient is faster from 16
// on.)
constexpr int64_t kFiltersPerBlock = 8000;
// Blocks of the result at a time: a multiple of the rows of a tile whose transforms stay in L2.
constexpr int64_t kBlocks = 48;
constexpr int64_t kThreadWork = 200'000;  // multiplications that pay for a thread

bool is_plane(const WinogradShape& shape) {
  return shape.result[0] > shape.dilation[0] && shape.result[1] > shape.dilation[1];
}

int64_t filters_per_block(const WinogradShape& shape, int64_t batch) {
  const int64_t blocks = batch * shape.strips() * shape.strip_blocks();
  return shape.channels * shape.outputs / std::max<int64_t>(blocks, 1);
}

/// Whether the transformed filters are more than the transformed batch: a panel of them that is
/// made where it is used, and never written to memory, is worth reading the batch again.
bool meets_batch_at_once(const WinogradShape& shape, int64_t batch, int64_t panels) {
  return panels >= num_threads() && batch * shape.strips() * shape.strip_blocks() <= shape.outputs;
}

/// A panel of outputs after the other meets the whole batch.
bool run_batch(const Correlation<float>& task, const WinogradShape& shape,
               const ConvWeights<float>& weights, int64_t panels) {
  const WinogradBatchKernels& kernels = winograd_kernels().batch;
  const Tensor owner =
      empty(Shape{kernels.source_size(shape, task.batch, kWinogradDepth)}, DType::float32);
  float* const v = owner.data<float>();
  for (int64_t group = 0; group < task.groups; ++group) {
    const float* const source =
        task.source + group * shape.channels * shape.source[0] * shape.source[1];
    parallel_for(0, task.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernels.transform(shape, task.batch, i, source, kWinogradDepth, v);
    });
    ConvWeights<float> filters = weights;
    filters.data += group * task.weight_group_step;
    const bool done = all_of(panels, 1, [&](int64_t panel) {
      check_interrupt();
      return kernels.forward(shape, task.batch, filters, panel, v,
                             task.bias ? task.bias + group * shape.outputs : nullptr,
                             task.result + group * shape.outputs * task.channel_step);
    });
    if (!done) return false;
  }
  return true;
}

}  // namespace

bool all_of(int64_t count, int64_t grain, const std::function<bool(int64_t)>& body) {
  std::atomic<bool> all{true};
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && all.load(std::memory_order_relaxed); ++i)
      if (!body(i)) all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
}

bool winograd_pays(const WinogradShape& shape) {
  return shape.channels >= kChannels && shape.outputs >= kChannels && is_plane(shape);
}

WinogradCut::WinogradCut(const WinogradStrips& each, int64_t count, int64_t blocks)
    : image(each), batch(count) {
  const int64_t per_image = image.count * image.blocks, threads = num_threads();
  const auto share = [](int64_t all, int64_t among) { return (all + among - 1) / among; };
  images = std::max<int64_t>(std::min(blocks / per_image, share(batch, threads)), 1);
  if (images > 1) {
    // About as many, but the same number of times for all threads.
    const int64_t rounds = (2 * share(batch, images) + threads - 1) / (2 * threads);
    images = share(batch, std::max<int64_t>(rounds, 1) * threads);
  }
  strips = image.count;
  if (images == 1) {
    const int64_t spare = std::max<int64_t>(threads / std::max<int64_t>(batch, 1), 1);
    const int64_t wanted = share(blocks, image.blocks);
    strips = std::min({strips, wanted, share(strips, spare)});
    strips = std::min(share(strips, image.apart) * image.apart, image.count);
  }
  parts_per_image = share(image.count, strips);
  parts = share(batch, images) * parts_per_image;
}

WinogradPart WinogradCut::part(int64_t i) const {
  const int64_t first = i % parts_per_image * strips;
  return {std::min(images, batch - first_image(i)), first, std::min(strips, image.count - first)};
}

bool try_winograd(const Correlation<float>& task) {
  if (task.column_step != 1) return false;
  const std::optional<TapSquare> found = find_square(task);
  if (!found || found->side != 3 || task.planes.row_stride != 1 || task.planes.column_stride != 1)
    return false;
  const TapSquare& square = *found;
  const int64_t source_plane = task.planes.rows * task.planes.columns;
  const WinogradShape shape{
      task.weights.majors,
      task.weights.outputs,
      {task.planes.rows, task.planes.columns},
      {task.rows, task.columns},
      {task.planes.top - square.corner[0], task.planes.left - square.corner[1]},
      task.groups * task.weights.majors * source_plane,
      task.image_step,
      {square.apart[0], square.apart[1]},
      task.by_pixels};
  if (task.row_step != task.columns || task.channel_step != task.rows * task.columns ||
      !winograd_pays(shape) || filters_per_block(shape, task.batch) > kFiltersPerBlock)
    return false;
  ConvWeights<float> weights = task.weights;
  weights.taps = square.taps.data();
  const WinogradKernels& kernels = winograd_kernels();
  const int64_t panels = (shape.outputs + kernels.panel_columns - 1) / kernels.panel_columns;
  if (meets_batch_at_once(shape, task.batch, panels))
    return run_batch(task, shape, weights, panels);
  const int64_t panel_size = kernels.filter_size(shape);
  const Tensor packed = empty(Shape{task.groups * panels * panel_size}, DType::float32);
  parallel_for(0, task.groups * panels, std::max<int64_t>(1, kGrain / panel_size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   ConvWeights<float> mine = weights;
                   mine.data += i / panels * task.weight_group_step;
                   kernels.pack(shape, mine, i % panels, packed.data<float>() + i * panel_size);
                 }
               });
  const WinogradCut cut(shape.image(), task.batch, kBlocks);
  const int64_t work = cut.part_blocks() * 16 * shape.channels * shape.outputs;
  const int64_t grain = std::max<int64_t>(1, kThreadWork / work);
  return all_of(task.groups * cut.parts, grain, [&](int64_t i) {
    const int64_t group = i / cut.parts, part = i % cut.parts, image = cut.first_image(part);
    return kernels.forward(
        shape, cut.part(part), packed.data<float>() + group * panels * panel_size,
        task.source + image * shape.source_step + group * shape.channels * source_plane,
        task.bias ? task.bias + group * shape.outputs : nullptr,
        task.result + image * shape.result_step + group * shape.outputs * task.channel_step);
  });
}

}  // namespace flambeau::cpu
