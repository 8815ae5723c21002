#include "cpu/nn/correlation.h"

#include <algorithm>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kBlockPositions = 512;     // of sums that wait in L2 to be written out
constexpr int64_t kSourceBytes = 384 << 10;  // of padded planes: half of L2
constexpr int64_t kThreadWork = 200'000;     // multiplications that pay for a thread

template <class T>
struct Plan {
  Correlation<T> task;
  std::vector<int64_t> offsets;  // of the depth
  Tensor packed;
  int64_t depth = 0, panels = 0, block_rows = 0, item_rows = 0, items_per_group = 0;
  bool in_place = false;  // the source is read where it is
  bool direct = false;    // sums are the result
};

template <class T>
Plan<T> make_plan(Correlation<T>&& given) {
  Plan<T> plan{std::move(given), {}, {}};
  Correlation<T>& task = plan.task;
  PaddedPlanes& planes = task.planes;
  plan.depth = task.weights.majors * task.weights.tap_count;
  int64_t halo_rows = 0, halo_columns = 0;
  for (size_t t = 0; t < task.tap_rows.size(); ++t) {
    halo_rows = std::max(halo_rows, task.tap_rows[t] / planes.row_stride);
    halo_columns = std::max(halo_columns, task.tap_columns[t] / planes.column_stride);
  }
  planes.pitch = task.columns + halo_columns;
  planes.height = task.rows + halo_rows;
  plan.in_place = planes.is_identity();
  plan.direct = plan.depth > 0 && planes.pitch == task.columns && task.column_step == 1 &&
                task.row_step == task.columns;
  plan.block_rows = std::clamp<int64_t>(kBlockPositions / planes.pitch, 1, task.rows);
  const int64_t row_bytes = planes.channels * planes.row_stride * planes.column_stride *
                            planes.pitch * static_cast<int64_t>(sizeof(T));
  plan.item_rows = std::clamp(kSourceBytes / std::max<int64_t>(row_bytes, 1) - halo_rows,
                              plan.block_rows, task.rows);
  const int64_t spare = num_threads() / std::max<int64_t>(task.batch * task.groups, 1);
  if (spare > 1) plan.item_rows = std::min(plan.item_rows, (task.rows + spare - 1) / spare);
  plan.items_per_group = (task.rows + plan.item_rows - 1) / plan.item_rows;
  if (!plan.in_place) planes.height = plan.item_rows + halo_rows;
  plan.offsets.reserve(static_cast<size_t>(plan.depth));
  for (int64_t c = 0; c < task.weights.majors; ++c)
    for (size_t t = 0; t < task.tap_rows.size(); ++t)
      plan.offsets.push_back(c * planes.channel() +
                             planes.offset(task.tap_rows[t], task.tap_columns[t]));
  return plan;
}

template <class T>
void pack(Plan<T>& plan, const ConvKernels<T>& kernels) {
  const Correlation<T>& task = plan.task;
  plan.panels = (task.weights.outputs + kernels.panel_rows - 1) / kernels.panel_rows;
  const int64_t panel_size = plan.depth * kernels.panel_rows;
  plan.packed = empty(Shape{task.groups * plan.panels * panel_size}, dtype_of<T>);
  T* packed = plan.packed.template data<T>();
  parallel_for(0, task.groups * plan.panels,
               std::max<int64_t>(1, kGrain / std::max<int64_t>(panel_size, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   ConvWeights<T> weights = task.weights;
                   weights.data += i / plan.panels * task.weight_group_step;
                   kernels.pack_weights(weights, i % plan.panels, packed + i * panel_size);
                 }
               });
}

/// Writes sums (rows of `pitch` positions) where they belong.
template <class T>
void write_out(const Correlation<T>& task, const T* sums, int64_t step, int64_t first_row,
               int64_t rows, const T* bias, T* result) {
  for (int64_t k = 0; k < task.weights.outputs; ++k) {
    const T shift = bias ? bias[k] : T(0);
    for (int64_t i = 0; i < rows; ++i) {
      const T* from = sums + k * step + i * task.planes.pitch;
      T* to = result + k * task.channel_step + (first_row + i) * task.row_step;
      if (task.column_step == 1)
        for (int64_t j = 0; j < task.columns; ++j) to[j] = from[j] + shift;
      else
        for (int64_t j = 0; j < task.columns; ++j) to[j * task.column_step] = from[j] + shift;
    }
  }
}

template <class T>
void run_item(const Plan<T>& plan, const ConvKernels<T>& kernels, int64_t index) {
  const Correlation<T>& task = plan.task;
  const PaddedPlanes& planes = task.planes;
  const int64_t block_index = index % plan.items_per_group;
  const int64_t group = index / plan.items_per_group % task.groups;
  const int64_t image = index / plan.items_per_group / task.groups;
  const int64_t first = block_index * plan.item_rows;
  const int64_t last = std::min(first + plan.item_rows, task.rows);
  const int64_t source_size = planes.channels * planes.rows * planes.columns;
  const T* source = task.source + (image * task.groups + group) * source_size;
  if (plan.in_place) {
    source += first * planes.pitch;
  } else {
    T* padded = scratch<T>(0, static_cast<size_t>(planes.channels * planes.channel()));
    pad_planes(planes, first, source, padded);
    source = padded;
  }
  const int64_t outputs = task.weights.outputs;
  T* result = task.result + image * task.image_step + group * outputs * task.channel_step;
  const T* bias = task.bias ? task.bias + group * outputs : nullptr;
  const T* packed =
      plan.packed.template data<T>() + group * plan.panels * plan.depth * kernels.panel_rows;
  const int64_t step = plan.direct ? task.channel_step : plan.block_rows * planes.pitch;
  T* buffer = plan.direct ? nullptr : scratch<T>(1, static_cast<size_t>(outputs * step));
  if (plan.depth == 0 && !plan.direct) std::fill_n(buffer, outputs * step, T(0));
  for (int64_t row = first; row < last; row += plan.block_rows) {
    const int64_t rows = std::min(plan.block_rows, last - row);
    check_interrupt();
    T* sums = plan.direct ? result + row * task.row_step : buffer;
    kernels.forward({outputs, plan.depth, (rows - 1) * planes.pitch + task.columns, packed,
                     plan.offsets.data(), source + (row - first) * planes.pitch, sums, step});
    if (!plan.direct)
      write_out(task, sums, step, row, rows, bias, result);
    else if (bias)
      for (int64_t k = 0; k < outputs; ++k)
        for (int64_t q = 0; q < rows * task.columns; ++q) sums[k * step + q] += bias[k];
  }
}

}  // namespace

template <class T>
void correlate(Correlation<T> given) {
  if (given.batch == 0 || given.rows <= 0 || given.columns <= 0 || given.weights.outputs == 0)
    return;
  if constexpr (std::is_same_v<T, float>)
    if (try_winograd(given)) return;
  const ConvKernels<T>& kernels = conv_kernels<T>();
  Plan<T> plan = make_plan(std::move(given));
  pack(plan, kernels);
  const Correlation<T>& task = plan.task;
  const int64_t work = plan.item_rows * task.columns * plan.depth * task.weights.outputs;
  parallel_for(0, task.batch * task.groups * plan.items_per_group,
               std::max<int64_t>(1, kThreadWork / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t index = begin; index < end; ++index) run_item(plan, kernels, index);
               });
}
template void correlate(Correlation<float>);
template void correlate(Correlation<double>);

}  // namespace flambeau::cpu
