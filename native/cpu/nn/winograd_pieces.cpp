#include "cpu/nn/winograd_pieces.h"

#include <algorithm>
#include <numeric>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/nn/correlation.h"
#include "cpu/nn/tap_square.h"

namespace flambeau::cpu {
namespace {

// Measured on Zen 5 with 16 to 512 channels and 8x8 to 64x64 images.
constexpr int64_t kChannels = 16, kDepth = 32;  // fewer do not pay for the transforms
constexpr int64_t kLeastBlocks = 32;            // a tile and more for each of two threads
// Filters, for each block that meets them: transforms of more cost what they save. Phases without
// them would be convolutions of their own, with results that are apart.
constexpr int64_t kFiltersPerBlock = 2000, kFiltersPerSpreadBlock = 8000;
constexpr int64_t kFilterBytes = 10 << 20;  // of all: they are read again for each part
// Blocks of a part: a multiple of the rows of a tile whose transforms stay in L2.
constexpr int64_t kBlocks = 36;
constexpr int64_t kThreadWork = 200'000;  // multiplications that pay for a thread

int64_t filters(const WinogradPiecesShape& shape) {
  return shape.depth() * shape.phases() * shape.outputs;
}

/// Whether transforms pay.
bool pays(const WinogradPiecesShape& shape, int64_t batch) {
  const WinogradStrips strips = shape.strips();
  const int64_t blocks = batch * strips.count * strips.blocks, side = shape.cut.side();
  const int64_t most = shape.phases() > 1 ? kFiltersPerSpreadBlock : kFiltersPerBlock;
  return std::min(shape.channels, shape.outputs) >= kChannels && shape.depth() >= kDepth &&
         shape.channels % winograd_pieces_kernels().lanes == 0 && side * side <= kMostPieceTaps &&
         std::min(strips.count, strips.blocks) > 1 && blocks * shape.phases() >= kLeastBlocks &&
         filters(shape) <= most * blocks && filters(shape) * 64 <= kFilterBytes;
}

/// All groups of all images; `group_step` in the weights.
struct Task {
  WinogradPiecesShape shape;
  ConvWeights<float> weights;
  int64_t batch, groups, group_step;
  const float *source, *bias;
  float* result;
};

bool run(const Task& task) {
  const WinogradPiecesShape& shape = task.shape;
  if (!pays(shape, task.batch)) return false;
  const WinogradPiecesKernels& kernels = winograd_pieces_kernels();
  const int64_t panels = (shape.outputs + kernels.panel_columns - 1) / kernels.panel_columns;
  const int64_t size = kernels.filter_size(shape);
  const Tensor packed = empty(Shape{task.groups * panels * size}, DType::float32);
  parallel_for(0, task.groups * panels, std::max<int64_t>(1, kGrain / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   ConvWeights<float> mine = task.weights;
                   mine.data += i / panels * task.group_step;
                   kernels.pack(shape, mine, i % panels, packed.data<float>() + i * size);
                 }
               });
  const WinogradCut cut(shape.strips(), task.batch, kBlocks);
  const int64_t work = cut.part_blocks() * 16 * filters(shape);
  const int64_t source_size = shape.channels * shape.source[0] * shape.source[1];
  const int64_t result_size = shape.outputs * shape.result[0] * shape.result[1];
  return all_of(task.groups * cut.parts, std::max<int64_t>(1, kThreadWork / work), [&](int64_t i) {
    const int64_t group = i / cut.parts, part = i % cut.parts, image = cut.first_image(part);
    check_interrupt();
    return kernels.forward(shape, cut.part(part), packed.data<float>() + group * panels * size,
                           task.source + image * shape.source_step + group * source_size,
                           task.bias ? task.bias + group * shape.outputs : nullptr,
                           task.result + image * shape.result_step + group * result_size);
  });
}

}  // namespace

bool try_winograd_pieces(const Correlation<float>& task) {
  const PaddedPlanes& planes = task.planes;
  const int64_t stride = planes.row_stride;
  if (task.column_step != 1 || task.row_step != task.columns || planes.column_stride != stride ||
      task.channel_step != task.rows * task.columns)
    return false;
  const std::optional<TapSquare> square = find_square(task);
  if (!square || square->apart[0] != 1 || square->apart[1] != 1) return false;
  const bool is_odd = stride == 1 && square->side == 5;
  if (!is_odd && square->side != 2 * stride) return false;
  ConvWeights<float> weights = task.weights;
  weights.taps = square->taps.data();
  const WinogradPiecesShape shape{
      is_odd ? WinogradPieces::odd(square->side) : WinogradPieces::strided(stride),
      weights.majors,
      weights.outputs,
      {planes.rows, planes.columns},
      {task.rows, task.columns},
      {planes.top - square->corner[0], planes.left - square->corner[1]},
      {0, 0},
      task.groups * weights.majors * planes.rows * planes.columns,
      task.image_step};
  return run({shape, weights, task.batch, task.groups, task.weight_group_step, task.source,
              task.bias, task.result});
}

bool try_winograd_spread(const ConvGeometry& geometry, const float* grad, const float* weight,
                         float* result) {
  const auto& [rows, columns] = geometry.axes;
  const int64_t stride = rows.stride;
  if (stride < 2) return false;
  WinogradPiecesShape shape{WinogradPieces::spread(stride),
                            geometry.out_channels,
                            geometry.in_channels,
                            {rows.output, columns.output},
                            {rows.input, columns.input},
                            {},
                            {},
                            geometry.groups * geometry.out_channels * geometry.output_plane(),
                            geometry.groups * geometry.in_channels * geometry.input_plane()};
  for (int i = 0; i < 2; ++i) {
    const ConvAxis& axis = geometry.axes[i];
    if (axis.stride != stride || axis.kernel != 2 * stride || axis.dilation != 1) return false;
    shape.lead[i] = axis.padding % stride;
    shape.border[i] = 1 - axis.padding / stride;
  }
  const int64_t taps = geometry.kernel_size();
  std::vector<int64_t> order(static_cast<size_t>(taps));
  std::iota(order.begin(), order.end(), 0);
  const ConvWeights<float> weights{
      weight, geometry.in_channels, taps, geometry.out_channels, geometry.in_channels * taps,
      taps,   order.data()};
  return run({shape, weights, geometry.batch, geometry.groups,
              geometry.out_channels * geometry.in_channels * taps, grad, nullptr, result});
}

}  // namespace flambeau::cpu
