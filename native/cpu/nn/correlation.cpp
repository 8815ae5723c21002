#include "cpu/nn/correlation.h"

#include <algorithm>

#include "core/backends/half_products.h"
#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kBlockPositions = 512;     // of sums that wait in L2 to be written out
constexpr int64_t kSourceBytes = 384 << 10;  // of padded planes: half of L2
constexpr int64_t kImagesBytes = 1 << 20;    // of several images', which are copied once more
constexpr int64_t kThreadWork = 200'000;     // multiplications that pay for a thread
constexpr int64_t kPairChannels = 8;         // fewer leave tiles of pairs empty
constexpr int64_t kLeastRows = 5;            // of tiles of two vectors
constexpr int64_t kTurns = 4;                // patches that are copied while sums are turned
constexpr int64_t kDeepSums = 256;           // take much longer than turning them
constexpr int64_t kHalfLine = 32;            // bytes
constexpr int64_t kSmallImage = 64;          // positions that are near in place
constexpr int64_t kManyFilters = 256 << 10;  // elements: they leave L2 before they are used
constexpr int64_t kCopied = 2;               // a copy for all threads is read from far
constexpr int64_t kPanelsOfThread = 4;       // leave none idle for long
constexpr int64_t kFewChannels = 24;         // and taps pay for no transforms beside wide tiles
constexpr int64_t kFewTaps = 9;
constexpr int64_t kGapOfPanels = 16;  // of so many positions one may be empty
constexpr int64_t kGap = 8;           // of so many positions one may be none of the result

/// A task is some rows of an image, or several images; it is computed in blocks of rows.
template <class T>
struct Plan {
  Correlation<T> task;
  std::vector<int64_t> offsets;  // of the depth
  Tensor packed;                 // weights
  int64_t depth = 0, panels = 0, panel_size = 0;
  int64_t element_bytes = 0;  // of the padded source
  int64_t images = 1, item_rows = 0, block_rows = 0, items_per_image = 0, items = 0;
  int64_t pitch = 0;       // of rows of sums
  bool in_place = false;   // the source is read where it is
  bool by_panels = false;  // through copies of patches, which leave no gaps between rows
  bool by_lanes = false;   // vectors of outputs, no patches: no gaps either
  bool by_wide = false;    // tiles of fewer outputs and more positions
  bool direct = false;     // sums are the result
  int64_t source_size() const {
    return task.weights.majors * task.planes.rows * task.planes.columns;
  }
  const T* source_of(int64_t image, int64_t group) const {
    return task.source + image / task.layers * task.volume_step +
           image % task.layers * task.layer_step + group * task.group_step;
  }
  T* result_of(int64_t image) const {
    return task.result + image / task.layers * task.result_volume_step +
           image % task.layers * task.image_step;
  }
  int64_t image_step() const {
    const PaddedPlanes& planes = task.planes;
    return in_place ? task.groups * source_size() : planes.channels * planes.channel();
  }
  int64_t sets() const { return (task.batch + images - 1) / images; }
};

/// Whether the result's elements follow each other in memory.
template <class T>
bool has_whole_rows(const Correlation<T>& task) {
  return task.column_step == 1 && task.row_step == task.columns;
}

/// Whether one image nearly fills its panels, and sums are written where the result is.
template <class T>
bool fills_panels(const Correlation<T>& task, int64_t width) {
  const int64_t area = task.rows * task.columns, panels = (area + width - 1) / width;
  return std::is_same_v<T, ConvSum<T>> && has_whole_rows(task) &&
         (panels * width - area) * kGapOfPanels < area;
}

/// How many rows of how many images a task takes. `has_layers`: images lie in volumes, one of each
/// apart.
template <class T>
void cut(Plan<T>& plan, int64_t halo_rows, int64_t panel_lanes, bool has_layers) {
  const Correlation<T>& task = plan.task;
  const PaddedPlanes& planes = task.planes;
  const int64_t row_bytes =
      std::max<int64_t>(planes.channels * planes.row_stride * planes.column_stride * planes.pitch *
                            plan.element_bytes,
                        1);
  const auto share = [](int64_t all, int64_t parts) { return (all + parts - 1) / parts; };
  const auto fitting = [&](int64_t rows) {
    const int64_t most = std::clamp<int64_t>(kBlockPositions / plan.pitch, 1, rows);
    return share(rows, share(rows, most));
  };
  plan.block_rows = fitting(task.rows);
  plan.item_rows = std::clamp(kSourceBytes / row_bytes - halo_rows, plan.block_rows, task.rows);
  const int64_t spare = num_threads() / std::max<int64_t>(task.batch * task.groups, 1);
  if (spare > 1) plan.item_rows = std::min(plan.item_rows, share(task.rows, spare));
  plan.block_rows = fitting(plan.item_rows);
  if ((plan.by_panels || plan.by_lanes) && plan.item_rows == task.rows && !has_layers &&
      !(plan.by_panels && fills_panels<T>(task, panel_lanes))) {
    // Small images share panels, which would be half empty, or what is packed of filters.
    const int64_t bytes = (task.rows + halo_rows) * row_bytes;
    // Patches of what is read in place are copied once, as they would be of one image.
    const int64_t near =
        plan.in_place && plan.by_panels ? task.batch : kImagesBytes / std::max<int64_t>(bytes, 1);
    const int64_t most = std::min(kBlockPositions / (task.rows * task.columns), near);
    const int64_t shared = share(task.batch, std::max<int64_t>(num_threads() / task.groups, 1));
    plan.images = std::clamp<int64_t>(most, 1, std::max<int64_t>(shared, 1));
  }
  plan.items_per_image = share(task.rows, plan.item_rows);
  plan.items = plan.sets() * task.groups * plan.items_per_image;
}

/// Whether vectors of outputs are nearly full, tiles of positions high enough to hide how long a
/// sum takes, and turning the sums, once a tap of the depth, is less than copying patches, once an
/// output, or than the sums themselves.
template <class T>
bool lanes_pay(const Plan<T>& plan, const ConvKernels<T>& kernels) {
  const Correlation<T>& task = plan.task;
  // What is read in place is no pair of channels; pairs are written row by row.
  if (plan.depth == 0 || (kernels.steps > 1 && (plan.in_place || !has_whole_rows(task))))
    return false;
  const auto share = [](int64_t all, int64_t most) { return (all + most - 1) / most; };
  const int64_t outputs = task.weights.outputs;
  // In place, tiles lower than half a cache line would read each line again and again, as would
  // single taps of large images and single vectors of outputs.
  const bool is_far = task.rows * task.columns > kSmallImage &&
                      (task.weights.tap_count == 1 || outputs <= kernels.vector_lanes);
  if (plan.in_place && (is_far || kernels.panel_rows * static_cast<int64_t>(sizeof(T)) < kHalfLine))
    return false;
  const bool is_whole = plan.in_place && task.planes.pitch == task.columns;
  const int64_t run = is_whole ? task.rows * task.columns : task.columns;
  const int64_t vectors = share(outputs, kernels.vector_lanes);
  return plan.depth >= std::min(kTurns * outputs, kDeepSums) &&
         run / share(run, kernels.panel_rows) >= kLeastRows &&
         outputs * 4 >= vectors * kernels.vector_lanes * 3;
}

/// Whether the outputs fill two of the lower tiles, but not those of other convolutions, and the
/// ends of rows, which are computed and dropped, are few. `halo`: what rows of the source are
/// longer by.
template <class T>
bool wide_pays(const Correlation<T>& task, int64_t halo, const ConvKernels<T>& kernels) {
  const int64_t outputs = task.weights.outputs;
  return outputs > kernels.panel_rows && outputs <= 2 * kernels.wide_rows &&
         halo * kGap <= task.columns + halo;
}

/// What rows of the source are longer by than those of the result.
int64_t halo_of(const std::vector<int64_t>& taps, int64_t stride) {
  const auto largest = std::max_element(taps.begin(), taps.end());
  return largest == taps.end() ? 0 : *largest / stride;
}

/// Rows of padded planes end where the zeros before the next one begin, but are no shorter than
/// those of the result: what these are less by is the halo.
void share_borders(PaddedPlanes& planes, int64_t halo) {
  if (planes.column_stride > 1) return;
  const int64_t right = planes.pitch - planes.left - planes.columns;
  planes.shared = std::max<int64_t>(0, std::min({planes.left, right, halo}));
  planes.pitch -= planes.shared;
}

template <class T>
Plan<T> make_plan(Correlation<T>&& given, const ConvKernels<T>& kernels) {
  Plan<T> plan{std::move(given), {}, {}};
  Correlation<T>& task = plan.task;
  PaddedPlanes& planes = task.planes;
  plan.depth = task.weights.majors * task.weights.tap_count;
  const bool has_layers = task.layers > 0;
  if (!has_layers) {
    task.layers = 1;
    task.group_step = plan.source_size();
    task.volume_step = task.groups * task.group_step;
    task.result_volume_step = task.image_step;
  }
  const int64_t halo_rows = halo_of(task.tap_rows, planes.row_stride);
  const int64_t halo_columns = halo_of(task.tap_columns, planes.column_stride);
  planes.pitch = task.columns + halo_columns - planes.shared;
  planes.height = task.rows + halo_rows;
  plan.in_place = planes.is_identity();
  plan.by_wide = plan.depth > 0 && wide_pays(task, halo_columns - planes.shared, kernels);
  plan.by_lanes = !plan.by_wide && lanes_pay(plan, kernels);
  plan.element_bytes = plan.by_lanes ? sizeof(ConvPacked<T>) : sizeof(T);
  if (plan.by_lanes) planes.channels = (planes.channels + kernels.steps - 1) / kernels.steps;
  // One row of tiles does not pay for copies of what it reads.
  plan.by_panels = plan.depth > 0 && !plan.by_lanes && !plan.by_wide &&
                   (std::is_same_v<T, bfloat16> || task.weights.outputs > kernels.panel_rows);
  if (!plan.by_panels && !plan.by_lanes && !plan.in_place) share_borders(planes, halo_columns);
  plan.pitch = plan.by_panels || plan.by_lanes ? task.columns : planes.pitch;
  cut(plan, halo_rows, kernels.panel_lanes, has_layers);
  if (!plan.in_place) planes.height = plan.item_rows + halo_rows;
  plan.direct = std::is_same_v<T, ConvSum<T>> && plan.depth > 0 && plan.images == 1 &&
                plan.pitch == task.columns && has_whole_rows(task);
  plan.offsets.reserve(static_cast<size_t>(plan.depth));
  for (int64_t c = 0; c < planes.channels; ++c)
    for (size_t t = 0; t < task.tap_rows.size(); ++t)
      plan.offsets.push_back((plan.in_place ? planes.place(c) : c * planes.channel()) +
                             planes.offset(task.tap_rows[t], task.tap_columns[t]));
  return plan;
}

template <class T>
void find_panels(Plan<T>& plan, const ConvKernels<T>& kernels) {
  const int64_t width = plan.by_lanes  ? kernels.panel_lanes
                        : plan.by_wide ? kernels.wide_rows
                                       : kernels.panel_rows;
  plan.panels = (plan.task.weights.outputs + width - 1) / width;
  plan.panel_size = width * (plan.by_lanes ? static_cast<int64_t>(plan.offsets.size())
                                           : (plan.depth + kernels.steps - 1) / kernels.steps);
}

/// Packs one of the panels of all groups.
template <class T>
void pack_panel(const Plan<T>& plan, const ConvKernels<T>& kernels, int64_t index,
                ConvPacked<T>* packed) {
  const auto pack = plan.by_lanes  ? kernels.pack_lanes
                    : plan.by_wide ? kernels.pack_wide
                                   : kernels.pack_weights;
  ConvWeights<T> weights = plan.task.weights;
  weights.data += index / plan.panels * plan.task.weight_group_step;
  pack(weights, index % plan.panels, packed);
}

template <class T>
void pack(Plan<T>& plan, const ConvKernels<T>& kernels) {
  using Packed = ConvPacked<T>;
  const int64_t panels = plan.task.groups * plan.panels;
  // Pairs of halves take the room of a float.
  plan.packed = empty(Shape{panels * plan.panel_size}, dtype_of<ConvSum<T>>);
  Packed* const packed = static_cast<Packed*>(plan.packed.raw_data());
  parallel_for(0, panels, std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.panel_size, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   pack_panel(plan, kernels, i, packed + i * plan.panel_size);
               });
}

/// Writes rows of sums of some outputs of one image where they belong.
template <class T>
void write_out(const Plan<T>& plan, const ConvKernels<T>& kernels, const ConvSum<T>* sums,
               int64_t step, int64_t first_row, int64_t rows, int64_t outputs, const T* bias,
               T* result) {
  using S = ConvSum<T>;
  const Correlation<T>& task = plan.task;
  const bool is_dense = plan.pitch == task.columns && has_whole_rows(task);
  const int64_t lines = is_dense ? 1 : rows, count = is_dense ? rows * task.columns : task.columns;
  for (int64_t k = 0; k < outputs; ++k) {
    const S shift = bias ? static_cast<S>(bias[k]) : S(0);
    for (int64_t i = 0; i < lines; ++i) {
      const S* from = sums + k * step + i * plan.pitch;
      T* to = result + k * task.channel_step + (first_row + i) * task.row_step;
      if (task.column_step == 1)
        kernels.finish_row(from, shift, count, to);
      else
        for (int64_t j = 0; j < count; ++j)
          to[j * task.column_step] = static_cast<T>(from[j] + shift);
    }
  }
}

/// Where the positions of rows of all images of a task lie, from the first row of its source on.
void find_runs(const PaddedPlanes& planes, int64_t images, int64_t image_step, int64_t first_row,
               int64_t rows, int64_t columns, std::vector<ConvRun>& runs) {
  runs.clear();
  for (int64_t n = 0; n < images; ++n) {
    const int64_t first = n * image_step + first_row * planes.pitch;
    if (planes.pitch == columns) {
      runs.push_back({first, rows * columns});
      continue;
    }
    for (int64_t i = 0; i < rows; ++i) runs.push_back({first + i * planes.pitch, columns});
  }
}

/// What a task reads and writes: rows [first, last) of a group of some images. `source`: of the
/// first image, all its rows.
template <class T>
struct Item {
  int64_t images, first, last;
  const T* source;
  const ConvPacked<T>* packed;
  const T* bias;
  T* result;
};

/// What lanes read of one image: padded planes, of pairs where these are multiplied.
template <class T>
void pad_for_lanes(const Plan<T>& plan, int64_t first_row, const T* image, ConvPacked<T>* padded) {
  const PaddedPlanes& planes = plan.task.planes;
  if constexpr (std::is_same_v<T, ConvPacked<T>>)
    pad_planes(planes, first_row, image, padded);
  else
    pad_pairs(planes, plan.task.weights.majors, first_row, image, padded);
}

/// What lanes read of the source of a task.
template <class T>
const ConvPacked<T>* lane_source(const Plan<T>& plan, const Item<T>& item) {
  if constexpr (std::is_same_v<T, ConvPacked<T>>)
    if (plan.in_place) return item.source + item.first * plan.task.planes.pitch;
  auto* const padded =
      scratch<ConvPacked<T>>(0, static_cast<size_t>(item.images * plan.image_step()));
  for (int64_t n = 0; n < item.images; ++n)
    pad_for_lanes(plan, item.first, item.source + n * plan.task.groups * plan.source_size(),
                  padded + n * plan.image_step());
  return padded;
}

/// One panel of outputs at rows [row, row + rows) of the images of a task: its sums are turned when
/// they are finished. `runs`: the places of these rows in `source`.
template <class T>
void run_panel(const Plan<T>& plan, const ConvKernels<T>& kernels, const Item<T>& item,
               const ConvPacked<T>* source, const std::vector<ConvRun>& runs, int64_t row,
               int64_t rows, int64_t panel, const ConvPacked<T>* packed) {
  using S = ConvSum<T>;
  const Correlation<T>& task = plan.task;
  const int64_t width = kernels.panel_lanes, k = panel * width;
  const int64_t count = std::min(width, task.weights.outputs - k);
  const int64_t area = rows * task.columns, positions = item.images * area;
  S* const sums = scratch<S>(1, static_cast<size_t>(positions * width));
  kernels.forward_lanes({count, static_cast<int64_t>(plan.offsets.size()), positions, packed,
                         plan.offsets.data(), source, runs.data(), sums});
  const T* const bias = item.bias ? item.bias + k : nullptr;
  T* const to = item.result + k * task.channel_step;
  if (has_whole_rows(task)) {
    for (int64_t n = 0; n < item.images; ++n)
      kernels.turn_lanes(sums + n * area * width, area, count, bias,
                         to + n * task.image_step + row * task.row_step, task.channel_step);
    return;
  }
  if constexpr (std::is_same_v<T, S>) {
    T* const turned = scratch<T>(2, static_cast<size_t>(positions * width));
    kernels.turn_lanes(sums, positions, count, nullptr, turned, positions);
    for (int64_t n = 0; n < item.images; ++n)
      write_out(plan, kernels, turned + n * area, positions, row, rows, count, bias,
                to + n * task.image_step);
  }
}

/// With vectors of outputs: rows after rows, each with one panel of filters after the other.
template <class T>
void run_lanes(const Plan<T>& plan, const ConvKernels<T>& kernels, const Item<T>& item) {
  const ConvPacked<T>* const source = lane_source(plan, item);
  std::vector<ConvRun> runs;
  for (int64_t row = item.first; row < item.last; row += plan.block_rows) {
    const int64_t rows = std::min(plan.block_rows, item.last - row);
    check_interrupt();
    find_runs(plan.task.planes, item.images, plan.image_step(), row - item.first, rows,
              plan.task.columns, runs);
    for (int64_t panel = 0; panel < plan.panels; ++panel)
      run_panel(plan, kernels, item, source, runs, row, rows, panel,
                item.packed + panel * plan.panel_size);
  }
}

/// Whether there is more of the filters than of the images, and enough for all threads: a panel is
/// then packed where it is used, and taken to all the images.
template <class T>
bool has_more_filters(const Plan<T>& plan) {
  const Correlation<T>& task = plan.task;
  if (!plan.by_lanes || task.layers != 1 || plan.items_per_image != 1) return false;
  const int64_t source = task.batch * plan.image_step(), filters = plan.panels * plan.panel_size;
  return source * (plan.in_place ? 1 : kCopied) <= filters && filters >= kManyFilters &&
         task.groups * plan.panels >= kPanelsOfThread * num_threads();
}

/// Each thread packs panels of filters, one after the other, and takes each to all images.
template <class T>
void run_panels(const Plan<T>& plan, const ConvKernels<T>& kernels) {
  using Packed = ConvPacked<T>;
  const Correlation<T>& task = plan.task;
  const int64_t images = task.batch;
  Tensor owner;
  Packed* padded = nullptr;
  if (!plan.in_place) {
    owner = empty(Shape{task.groups * images * plan.image_step()}, dtype_of<ConvSum<T>>);
    padded = static_cast<Packed*>(owner.raw_data());
    parallel_for(0, task.groups * images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pad_for_lanes(plan, 0, plan.source_of(i % images, i / images),
                      padded + i * plan.image_step());
    });
  }
  parallel_for(0, task.groups * plan.panels, 1, [&](int64_t begin, int64_t end) {
    Packed* const packed = scratch<Packed>(3, static_cast<size_t>(plan.panel_size));
    std::vector<ConvRun> runs;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / plan.panels, outputs = task.weights.outputs;
      const Item<T> item{images,
                         0,
                         task.rows,
                         plan.source_of(0, group),
                         nullptr,
                         task.bias ? task.bias + group * outputs : nullptr,
                         plan.result_of(0) + group * outputs * task.channel_step};
      const Packed* source = nullptr;
      if (padded) source = padded + group * images * plan.image_step();
      if constexpr (std::is_same_v<T, Packed>)
        if (plan.in_place) source = item.source;
      pack_panel(plan, kernels, i, packed);
      check_interrupt();
      for (int64_t row = 0; row < task.rows; row += plan.block_rows) {
        const int64_t rows = std::min(plan.block_rows, task.rows - row);
        find_runs(task.planes, images, plan.image_step(), row, rows, task.columns, runs);
        run_panel(plan, kernels, item, source, runs, row, rows, i % plan.panels, packed);
      }
    }
  });
}

template <class T>
void run_item(const Plan<T>& plan, const ConvKernels<T>& kernels, int64_t index) {
  using S = ConvSum<T>;
  const Correlation<T>& task = plan.task;
  const PaddedPlanes& planes = task.planes;
  const int64_t group = index / plan.items_per_image % task.groups;
  const int64_t image = index / plan.items_per_image / task.groups * plan.images;
  const int64_t images = std::min(plan.images, task.batch - image);
  const int64_t first = index % plan.items_per_image * plan.item_rows;
  const int64_t last = std::min(first + plan.item_rows, task.rows);
  const int64_t source_size = plan.source_size(), outputs = task.weights.outputs;
  const T* source = plan.source_of(image, group);
  T* const result = plan.result_of(image) + group * outputs * task.channel_step;
  const T* bias = task.bias ? task.bias + group * outputs : nullptr;
  const auto* packed = static_cast<const ConvPacked<T>*>(plan.packed.raw_data()) +
                       group * plan.panels * plan.panel_size;
  if (plan.by_lanes)
    return run_lanes(plan, kernels, {images, first, last, source, packed, bias, result});
  if (plan.in_place) {
    source += first * planes.pitch;
  } else {
    const int64_t size = images * plan.image_step();
    T* padded = scratch<T>(0, static_cast<size_t>(size + planes.shared));
    for (int64_t n = 0; n < images; ++n)
      pad_planes(planes, first, source + n * task.groups * source_size,
                 padded + n * plan.image_step());
    std::fill_n(padded + size, planes.shared, T(0));
    source = padded;
  }
  const int64_t step = plan.direct ? task.channel_step : plan.images * plan.block_rows * plan.pitch;
  S* buffer = plan.direct ? nullptr : scratch<S>(1, static_cast<size_t>(outputs * step));
  if (plan.depth == 0 && !plan.direct) std::fill_n(buffer, outputs * step, S(0));
  std::vector<ConvRun> runs;
  for (int64_t row = first; row < last; row += plan.block_rows) {
    const int64_t rows = std::min(plan.block_rows, last - row);
    check_interrupt();
    S* sums = buffer;
    if constexpr (std::is_same_v<T, S>)
      if (plan.direct) sums = result + row * task.row_step;
    ConvBlock<T> block{outputs, plan.depth, 0,    packed, plan.offsets.data(),
                       source,  nullptr,    sums, step};
    if (plan.by_panels) {
      find_runs(planes, images, plan.image_step(), row - first, rows, task.columns, runs);
      block.runs = runs.data();
      block.in_memory = plan.in_place;
      block.positions = images * rows * task.columns;
    } else {
      block.source += (row - first) * planes.pitch;
      block.positions = (rows - 1) * planes.pitch + task.columns;
    }
    (plan.by_wide ? kernels.forward_wide : kernels.forward)(block);
    if (!plan.direct)
      for (int64_t n = 0; n < images; ++n)
        write_out(plan, kernels, sums + n * rows * plan.pitch, step, row, rows, outputs, bias,
                  result + n * task.image_step);
    else if (bias)
      for (int64_t k = 0; k < outputs; ++k) {
        const S shift = static_cast<S>(bias[k]);
        for (int64_t q = 0; q < rows * task.columns; ++q) sums[k * step + q] += shift;
      }
  }
}

}  // namespace

template <class T>
void correlate(Correlation<T> given) {
  if (given.batch == 0 || given.rows <= 0 || given.columns <= 0 || given.weights.outputs == 0)
    return;
  const ConvKernels<T>& kernels = conv_kernels<T>();
  if constexpr (std::is_same_v<T, float>) {
    const int64_t halo = halo_of(given.tap_columns, given.planes.column_stride);
    const bool is_direct = given.weights.majors <= kFewChannels &&
                           given.weights.tap_count <= kFewTaps && wide_pays(given, halo, kernels);
    if (given.layers == 0 && !is_direct && (try_winograd(given) || try_winograd_pieces(given)))
      return;
  }
  Plan<T> plan = make_plan(std::move(given), kernels);
  find_panels(plan, kernels);
  if (has_more_filters(plan)) return run_panels(plan, kernels);
  pack(plan, kernels);
  const Correlation<T>& task = plan.task;
  const int64_t work =
      plan.images * plan.item_rows * task.columns * plan.depth * task.weights.outputs;
  parallel_for(0, plan.items, std::max<int64_t>(1, kThreadWork / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t index = begin; index < end; ++index) run_item(plan, kernels, index);
               });
}
template void correlate(Correlation<float>);
template void correlate(Correlation<double>);
template void correlate(Correlation<bfloat16>);

/// What is multiplied in pairs takes less than Winograd's filters in float.
bool convolves_pairs(const ConvGeometry& geometry, DType dtype) {
  return dtype == DType::bfloat16 && has_paired_products() &&
         std::min(geometry.in_channels, geometry.out_channels) >= kPairChannels;
}

}  // namespace flambeau::cpu
