#include "cpu/nn/winograd_lines.h"

#include <algorithm>

#include "core/parallel.h"
#include "cpu/nn/correlation.h"

namespace flambeau::cpu {
namespace {

// Blocks of the result at a time: a multiple of the rows of a tile whose transforms stay in L2.
constexpr int64_t kBlocks = 48;
constexpr int64_t kChannels = 16;           // fewer do not pay for the transforms
constexpr int64_t kPlane = 144;             // larger images leave vectors of pixels (winograd.h)
constexpr int64_t kFiltersPerBlock = 2000;  // more would be read for too few blocks

}  // namespace

bool winograd_lines_pay(const WinogradLines& shape, int64_t batch) {
  const int64_t blocks = batch * shape.strips() * shape.strip_blocks();
  return shape.channels >= kChannels && shape.outputs >= kChannels &&
         shape.result[0] * shape.result[1] < kPlane && shape.result[0] > 1 && shape.result[1] > 1 &&
         shape.channels * shape.outputs <= kFiltersPerBlock * blocks;
}

WinogradCut::WinogradCut(const WinogradLines& shape, int64_t count) : batch(count) {
  const int64_t per_image = shape.strips() * shape.strip_blocks();
  images = std::max<int64_t>(kBlocks / per_image, 1);
  strips = images > 1 ? shape.strips()
                      : std::clamp<int64_t>(kBlocks / shape.strip_blocks(), 1, shape.strips());
  parts_per_image = (shape.strips() + strips - 1) / strips;
  parts = (batch + images - 1) / images * parts_per_image;
}

WinogradPart WinogradCut::part(const WinogradLines& shape, int64_t i) const {
  const int64_t first = i % parts_per_image * strips;
  return {std::min(images, batch - first_image(i)), first,
          std::min(strips, shape.strips() - first)};
}

bool try_winograd_lines(const Correlation<float>& task) {
  TapSquare square;
  const int64_t source_plane = task.planes.rows * task.planes.columns;
  const WinogradLines shape{task.weights.majors,
                            task.weights.outputs,
                            {task.planes.rows, task.planes.columns},
                            {task.rows, task.columns},
                            {task.planes.top, task.planes.left},
                            task.groups * task.weights.majors * source_plane,
                            task.image_step};
  if (task.row_step != task.columns || task.channel_step != task.rows * task.columns ||
      !winograd_lines_pay(shape, task.batch) || !find_square(task, square))
    return false;
  WinogradLines moved = shape;
  moved.border[0] -= square.row;
  moved.border[1] -= square.column;
  ConvWeights<float> weights = task.weights;
  weights.taps = square.taps;
  const WinogradLineKernels& kernels = winograd_line_kernels();
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
  const WinogradCut cut(shape, task.batch);
  parallel_for(0, task.groups * cut.parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / cut.parts, part = i % cut.parts, image = cut.first_image(part);
      kernels.forward(
          moved, cut.part(shape, part), packed.data<float>() + group * panels * panel_size,
          task.source + image * shape.source_step + group * shape.channels * source_plane,
          task.bias ? task.bias + group * shape.outputs : nullptr,
          task.result + image * shape.result_step + group * shape.outputs * task.channel_step);
    }
  });
  return true;
}

}  // namespace flambeau::cpu
