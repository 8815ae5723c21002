#include "cpu/nn/winograd.h"

#include <algorithm>

#include "core/parallel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/correlation.h"

namespace flambeau::cpu {
namespace {

// Fewer channels do not pay for the transforms; smaller images waste blocks; where filters outweigh
// images, reading 16 numbers for 9 costs more than it saves.
constexpr int64_t kChannels = 32;
constexpr int64_t kPlane = 144;
constexpr int64_t kFiltersPerElement = 400;

/// Blocks [first, first + count) of one output channel, to the rows and columns of the result.
void write_blocks(const Correlation<float>& task, const float* blocks, int64_t first, int64_t count,
                  float bias, float* result) {
  const auto interleave = winograd_kernels().interleave;
  const int64_t pitch = task.planes.pitch, block_columns = (task.columns + 1) / 2;
  for (int64_t q = first; q < first + count;) {
    const int64_t row = q / pitch, begin = q % pitch;
    const int64_t end = std::min(pitch, begin + first + count - q);
    const int64_t last = std::min(end, block_columns);
    for (int64_t y = 0; y < 2 && 2 * row + y < task.rows; ++y) {
      const float* left = blocks + 2 * y * kWinogradPositions + (q - first) - begin;
      const float* right = left + kWinogradPositions;
      float* to = result + (2 * row + y) * task.row_step;
      const int64_t pairs = std::min(last, task.columns / 2);
      interleave(left + begin, right + begin, bias, pairs - begin, to + 2 * begin);
      if (pairs < last) to[2 * pairs] = left[pairs] + bias;  // an odd last column
    }
    q += end - begin;
  }
}

}  // namespace

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

bool try_winograd(const Correlation<float>& given) {
  TapSquare square;
  if (given.weights.majors < kChannels || given.weights.outputs < kChannels ||
      given.rows * given.columns < kPlane ||
      given.weights.majors * given.weights.outputs >
          kFiltersPerElement * given.rows * given.columns ||
      !find_square(given, square))
    return false;
  Correlation<float> task = given;
  task.weights.taps = square.taps;
  PaddedPlanes& planes = task.planes;
  planes.top -= square.row;
  planes.left -= square.column;
  planes.row_stride = planes.column_stride = 2;
  const int64_t block_rows = (task.rows + 1) / 2;
  planes.pitch = (task.columns + 1) / 2 + 1;
  planes.height = block_rows + 1;

  const WinogradKernels& kernels = winograd_kernels();
  const int64_t channels = task.weights.majors, outputs = task.weights.outputs;
  const int64_t panels = (outputs + kernels.panel_rows - 1) / kernels.panel_rows;
  const int64_t group_size = 16 * panels * channels * kernels.panel_rows;
  const Tensor packed = empty(Shape{task.groups * group_size}, DType::float32);
  parallel_for(0, task.groups * panels, std::max<int64_t>(1, kGrain / (channels * 64)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   ConvWeights<float> weights = task.weights;
                   weights.data += i / panels * task.weight_group_step;
                   kernels.pack(weights, i % panels, panels,
                                packed.data<float>() + i / panels * group_size);
                 }
               });

  // An image is one item, or several bands of rows where images are few.
  const int64_t spare = num_threads() / std::max<int64_t>(task.batch * task.groups, 1);
  const int64_t band = spare > 1 ? (block_rows + spare - 1) / spare : block_rows;
  const int64_t bands = (block_rows + band - 1) / band;
  planes.height = band + 1;
  parallel_for(0, task.batch * task.groups * bands, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item / bands % task.groups, image = item / bands / task.groups;
      const int64_t first = item % bands * band;
      const int64_t rows = std::min(band, block_rows - first);
      float* padded = scratch<float>(0, static_cast<size_t>(channels * planes.channel()));
      pad_planes(
          planes, first,
          task.source + (image * task.groups + group) * channels * planes.rows * planes.columns,
          padded);
      float* work = scratch<float>(1, static_cast<size_t>(winograd_work(channels, outputs)));
      float* blocks = scratch<float>(2, static_cast<size_t>(outputs * 4 * kWinogradPositions));
      Correlation<float> part = task;
      part.rows = task.rows - 2 * first;
      float* result = task.result + image * task.image_step + group * outputs * task.channel_step +
                      2 * first * task.row_step;
      const int64_t positions = rows * planes.pitch - 1;
      for (int64_t q = 0; q < positions; q += kWinogradPositions) {
        const int64_t count = std::min(kWinogradPositions, positions - q);
        kernels.run({channels, outputs, packed.data<float>() + group * group_size, padded,
                     planes.plane(), planes.pitch, q, count, work, blocks});
        for (int64_t k = 0; k < outputs; ++k)
          write_blocks(part, blocks + k * 4 * kWinogradPositions, q, count,
                       task.bias ? task.bias[group * outputs + k] : 0.f,
                       result + k * task.channel_step);
      }
    }
  });
  return true;
}

}  // namespace flambeau::cpu
