#include "cpu/nn/winograd.h"

#include <algorithm>
#include <atomic>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/nn/correlation.h"

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

/// The nine taps in row-major order, their corner, and how far they are apart.
struct TapSquare {
  int64_t corner[2], apart[2];
  int64_t taps[9];
};

/// Whether the taps are a 3x3 square that moves in unit steps.
bool find_square(const Correlation<float>& task, TapSquare& square) {
  if (task.planes.row_stride != 1 || task.planes.column_stride != 1 || task.column_step != 1)
    return false;
  if (task.tap_rows.size() != 9) return false;
  const std::vector<int64_t>* const offsets[] = {&task.tap_rows, &task.tap_columns};
  for (int i = 0; i < 2; ++i) {
    const auto [least, most] = std::minmax_element(offsets[i]->begin(), offsets[i]->end());
    square.corner[i] = *least;
    square.apart[i] = (*most - *least) / 2;
    if (square.apart[i] == 0) return false;
  }
  unsigned found = 0;
  for (size_t t = 0; t < 9; ++t) {
    int64_t place[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t offset = (*offsets[i])[t] - square.corner[i];
      place[i] = offset / square.apart[i];
      if (offset % square.apart[i] != 0 || place[i] > 2) return false;
    }
    square.taps[place[0] * 3 + place[1]] = task.weights.taps[t];
    found |= 1u << (place[0] * 3 + place[1]);
  }
  return found == 0x1ff;
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

/// Calls body(i) for all i < count on several threads, while it returns true; whether it always
/// did.
template <class Body>
bool all_of(int64_t count, int64_t grain, const Body& body) {
  std::atomic<bool> all{true};
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && all.load(std::memory_order_relaxed); ++i)
      if (!body(i)) all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
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

bool winograd_pays(const WinogradShape& shape) {
  return shape.channels >= kChannels && shape.outputs >= kChannels && is_plane(shape);
}

WinogradCut::WinogradCut(const WinogradShape& shape, int64_t count, int64_t blocks) : batch(count) {
  const int64_t per_image = shape.strips() * shape.strip_blocks(), threads = num_threads();
  const auto share = [](int64_t all, int64_t among) { return (all + among - 1) / among; };
  images = std::max<int64_t>(std::min(blocks / per_image, share(batch, threads)), 1);
  if (images > 1) {
    // About as many, but the same number of times for all threads.
    const int64_t rounds = (2 * share(batch, images) + threads - 1) / (2 * threads);
    images = share(batch, std::max<int64_t>(rounds, 1) * threads);
  }
  strips = shape.strips();
  if (images == 1) {
    const int64_t spare = std::max<int64_t>(threads / std::max<int64_t>(batch, 1), 1);
    const int64_t wanted = (blocks + shape.strip_blocks() - 1) / shape.strip_blocks();
    strips = std::min({strips, wanted, (strips + spare - 1) / spare});
    strips = std::min(share(strips, shape.dilation[0]) * shape.dilation[0], shape.strips());
  }
  parts_per_image = (shape.strips() + strips - 1) / strips;
  parts = (batch + images - 1) / images * parts_per_image;
  work = images * strips * shape.strip_blocks() * 16 * shape.channels * shape.outputs;
}

WinogradPart WinogradCut::part(const WinogradShape& shape, int64_t i) const {
  const int64_t first = i % parts_per_image * strips;
  return {std::min(images, batch - first_image(i)), first,
          std::min(strips, shape.strips() - first)};
}

bool try_winograd(const Correlation<float>& task) {
  TapSquare square;
  if (!find_square(task, square)) return false;
  const int64_t source_plane = task.planes.rows * task.planes.columns;
  const WinogradShape shape{
      task.weights.majors,
      task.weights.outputs,
      {task.planes.rows, task.planes.columns},
      {task.rows, task.columns},
      {task.planes.top - square.corner[0], task.planes.left - square.corner[1]},
      task.groups * task.weights.majors * source_plane,
      task.image_step,
      {square.apart[0], square.apart[1]}};
  if (task.row_step != task.columns || task.channel_step != task.rows * task.columns ||
      !winograd_pays(shape) || filters_per_block(shape, task.batch) > kFiltersPerBlock)
    return false;
  ConvWeights<float> weights = task.weights;
  weights.taps = square.taps;
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
  const WinogradCut cut(shape, task.batch, kBlocks);
  const int64_t grain = std::max<int64_t>(1, kThreadWork / cut.work);
  return all_of(task.groups * cut.parts, grain, [&](int64_t i) {
    const int64_t group = i / cut.parts, part = i % cut.parts, image = cut.first_image(part);
    return kernels.forward(
        shape, cut.part(shape, part), packed.data<float>() + group * panels * panel_size,
        task.source + image * shape.source_step + group * shape.channels * source_plane,
        task.bias ? task.bias + group * shape.outputs : nullptr,
        task.result + image * shape.result_step + group * shape.outputs * task.channel_step);
  });
}

}  // namespace flambeau::cpu
