#include "cpu/nn/winograd.h"

#include <algorithm>
#include <atomic>

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

bool is_plane(const WinogradShape& shape) { return shape.result[0] > 1 && shape.result[1] > 1; }

/// The nine taps in row-major order, and their corner.
struct TapSquare {
  int64_t row = 0, column = 0;
  int64_t taps[9];
};

/// Whether the taps are a dense 3x3 square that moves in unit steps.
bool find_square(const Correlation<float>& task, TapSquare& square) {
  if (task.planes.row_stride != 1 || task.planes.column_stride != 1 || task.column_step != 1)
    return false;
  if (task.tap_rows.size() != 9) return false;
  square.row = *std::min_element(task.tap_rows.begin(), task.tap_rows.end());
  square.column = *std::min_element(task.tap_columns.begin(), task.tap_columns.end());
  unsigned found = 0;
  for (size_t t = 0; t < 9; ++t) {
    const int64_t y = task.tap_rows[t] - square.row, x = task.tap_columns[t] - square.column;
    if (y > 2 || x > 2) return false;
    square.taps[y * 3 + x] = task.weights.taps[t];
    found |= 1u << (y * 3 + x);
  }
  return found == 0x1ff;
}

int64_t filters_per_block(const WinogradShape& shape, int64_t batch) {
  const int64_t blocks = batch * shape.strips() * shape.strip_blocks();
  return shape.channels * shape.outputs / std::max<int64_t>(blocks, 1);
}

}  // namespace

bool winograd_pays(const WinogradShape& shape) {
  return shape.channels >= kChannels && shape.outputs >= kChannels && is_plane(shape);
}

WinogradCut::WinogradCut(const WinogradShape& shape, int64_t count, int64_t blocks) : batch(count) {
  const int64_t per_image = shape.strips() * shape.strip_blocks(), threads = num_threads();
  images = std::max<int64_t>(std::min(blocks / per_image, (batch + threads - 1) / threads), 1);
  strips = shape.strips();
  if (images == 1) {
    const int64_t spare = std::max<int64_t>(threads / std::max<int64_t>(batch, 1), 1);
    const int64_t wanted = (blocks + shape.strip_blocks() - 1) / shape.strip_blocks();
    strips = std::min({strips, wanted, (strips + spare - 1) / spare});
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
  const int64_t source_plane = task.planes.rows * task.planes.columns;
  const WinogradShape shape{task.weights.majors,
                            task.weights.outputs,
                            {task.planes.rows, task.planes.columns},
                            {task.rows, task.columns},
                            {task.planes.top, task.planes.left},
                            task.groups * task.weights.majors * source_plane,
                            task.image_step};
  if (task.row_step != task.columns || task.channel_step != task.rows * task.columns ||
      !winograd_pays(shape) || filters_per_block(shape, task.batch) > kFiltersPerBlock ||
      !find_square(task, square))
    return false;
  WinogradShape moved = shape;
  moved.border[0] -= square.row;
  moved.border[1] -= square.column;
  ConvWeights<float> weights = task.weights;
  weights.taps = square.taps;
  const WinogradKernels& kernels = winograd_kernels();
  const int64_t panels = (shape.outputs + kernels.panel_columns - 1) / kernels.panel_columns;
  const int64_t panel_size = 16 * shape.channels * kernels.panel_columns;
  const Tensor packed = empty(Shape{task.groups * panels * panel_size}, DType::float32);
  parallel_for(0, task.groups * panels, std::max<int64_t>(1, kGrain / panel_size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   ConvWeights<float> mine = weights;
                   mine.data += i / panels * task.weight_group_step;
                   kernels.pack(moved, mine, i % panels, packed.data<float>() + i * panel_size);
                 }
               });
  const WinogradCut cut(shape, task.batch, kBlocks);
  const int64_t grain = std::max<int64_t>(1, kThreadWork / cut.work);
  std::atomic<bool> finite{true};
  parallel_for(0, task.groups * cut.parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && finite.load(std::memory_order_relaxed); ++i) {
      const int64_t group = i / cut.parts, part = i % cut.parts, image = cut.first_image(part);
      const bool done = kernels.forward(
          moved, cut.part(shape, part), packed.data<float>() + group * panels * panel_size,
          task.source + image * shape.source_step + group * shape.channels * source_plane,
          task.bias ? task.bias + group * shape.outputs : nullptr,
          task.result + image * shape.result_step + group * shape.outputs * task.channel_step);
      if (!done) finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace flambeau::cpu
