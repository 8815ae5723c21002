#include "cpu/nn/pixel_windows.h"

#include <algorithm>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/line_sums.h"
#include "cpu/nn/window_kernel.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kBandBytes = 256 << 10;  // of images and results: half of L2
constexpr int64_t kNearBytes = 1 << 20;    // of the rows that one row of results meets
constexpr int64_t kHighTile = 12;          // rows: those of 32 registers
constexpr int64_t kLeastRows = 4;          // of tiles, whose sums do not wait for each other then

/// Rows of results, and the windows that they are of: in the images, or in copies among zeros.
template <class T>
class Bands {
 public:
  Bands(const Correlation<T>& task, int64_t outputs)
      : task_(task), pixel_(task.groups * task.weights.majors) {
    const PaddedPlanes& planes = task.planes;
    const auto [top, bottom] = std::minmax_element(task.tap_rows.begin(), task.tap_rows.end());
    const auto [left, right] =
        std::minmax_element(task.tap_columns.begin(), task.tap_columns.end());
    top_ = planes.top - *top;
    left_ = planes.left - *left;
    reach_ = *bottom - *top;
    width_ = (task.columns - 1) * planes.column_stride + *right - *left + 1;
    in_place_ = top_ <= 0 && left_ <= 0 && width_ - left_ <= planes.columns &&
                (task.rows - 1) * planes.row_stride + reach_ - top_ < planes.rows;
    const int64_t pitch = this->pitch(), size = sizeof(T);
    const int64_t row = planes.row_stride * pitch + task.columns * task.groups * outputs;
    const int64_t fitting = (kBandBytes / size - reach_ * pitch) / std::max<int64_t>(row, 1);
    const int64_t parts = (num_threads() + task.batch - 1) / task.batch;
    rows_ = std::clamp<int64_t>(fitting, 1, (task.rows + parts - 1) / parts);
    per_image_ = (task.rows + rows_ - 1) / rows_;
    for (size_t t = 0; t < task.tap_rows.size(); ++t)
      for (int64_t c = 0; c < task.weights.majors; ++c)
        offsets_.push_back((task.tap_rows[t] - *top) * pitch +
                           (task.tap_columns[t] - *left) * pixel_ + c);
  }

  int64_t count() const { return task_.batch * per_image_; }
  int64_t image(int64_t band) const { return band / per_image_; }
  int64_t first_row(int64_t band) const { return task_.rows * (band % per_image_) / per_image_; }
  int64_t depth() const { return static_cast<int64_t>(offsets_.size()); }

  /// The windows of a band as the first group sees them; a copy is this thread's scratch 0.
  WindowGrid<T> windows(int64_t band) const {
    const PaddedPlanes& planes = task_.planes;
    const int64_t first = first_row(band);
    const int64_t rows = task_.rows * (band % per_image_ + 1) / per_image_ - first;
    const T* source = task_.source + image(band) * planes.rows * planes.columns * pixel_;
    if (in_place_)
      source += (first * planes.row_stride - top_) * pitch() - left_ * pixel_;
    else
      source = copied(source, first * planes.row_stride - top_,
                      (rows - 1) * planes.row_stride + reach_ + 1);
    return {rows,   task_.columns,  planes.row_stride * pitch(), planes.column_stride * pixel_,
            source, offsets_.data()};
  }

 private:
  int64_t pitch() const { return (in_place_ ? task_.planes.columns : width_) * pixel_; }

  /// `count` rows of an image from `first` on, among zeros.
  const T* copied(const T* image, int64_t first, int64_t count) const {
    const PaddedPlanes& planes = task_.planes;
    T* const copy = scratch<T>(0, static_cast<size_t>(count * pitch()));
    const int64_t begin = std::clamp<int64_t>(left_, 0, width_);
    const int64_t end = std::clamp<int64_t>(planes.columns + left_, begin, width_);
    for (int64_t i = 0; i < count; ++i) {
      T* const to = copy + i * pitch();
      const int64_t y = first + i;
      if (y < 0 || y >= planes.rows) {
        std::fill_n(to, pitch(), T(0));
        continue;
      }
      std::fill_n(to, begin * pixel_, T(0));
      std::copy_n(image + (y * planes.columns + begin - left_) * pixel_, (end - begin) * pixel_,
                  to + begin * pixel_);
      std::fill(to + end * pixel_, to + pitch(), T(0));
    }
    return copy;
  }

  const Correlation<T>& task_;
  int64_t pixel_;                 // elements
  int64_t top_, left_;            // of the border that is met; less than 0: pixels that are not
  int64_t reach_, width_;         // rows of a window but the first, columns of all windows
  int64_t rows_ = 1, per_image_;  // of a band, bands
  bool in_place_;
  std::vector<int64_t> offsets_;
};

/// How the weights of groups lie that tiles read: panels of outputs, or groups that share vectors.
struct Panels {
  int64_t per_group, size, together;
};

template <class T>
Panels panels_of(const Correlation<T>& task, int64_t depth) {
  const WindowKernels<T>& kernels = window_kernels<T>();
  const int64_t outputs = task.weights.outputs;
  const int64_t together = kernels.groups_together(task.groups, task.weights.majors, outputs);
  return {(outputs + kernels.tile_columns - 1) / kernels.tile_columns,
          depth * std::min(kernels.tile_columns, outputs), together};
}

/// Weights in the order in which tiles read them, all panels of all groups.
template <class T>
Tensor packed_weights(const Correlation<T>& task, const Panels& panels) {
  const int64_t count = task.groups * panels.per_group;
  const Tensor packed = empty(Shape{count * panels.size}, dtype_of<T>);
  parallel_for(0, count, std::max<int64_t>(1, kGrain / panels.size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   ConvWeights<T> weights = task.weights;
                   weights.data += i / panels.per_group * task.weight_group_step;
                   const int64_t place = i % panels.together;
                   T* const first = packed.data<T>() + (i - place) * panels.size;
                   if (panels.together > 1)
                     window_kernels<T>().pack_shared(weights, first + place * weights.outputs);
                   else
                     window_kernels<T>().pack(weights, i % panels.per_group, first);
                 }
               });
  return packed;
}

}  // namespace

template <class T>
bool fills_window_tiles(int64_t columns) {
  const int64_t height = window_kernels<T>().tile_rows;
  return columns > 0 && columns >= kLeastRows * ((columns + height - 1) / height);
}

template <class T>
bool has_high_window_tiles() {
  return window_kernels<T>().tile_rows >= kHighTile;
}

template <class T>
bool is_near(int64_t rows, int64_t columns, int64_t channels) {
  constexpr int64_t most = kNearBytes / static_cast<int64_t>(sizeof(T));
  return rows * columns <= most / std::max<int64_t>(channels, 1);
}

template <class T>
void correlate_windows(const Correlation<T>& task) {
  const WindowKernels<T>& kernels = window_kernels<T>();
  const int64_t outputs = task.weights.outputs, channels = task.weights.majors;
  const Bands<T> bands(task, outputs);
  const Panels panels = panels_of(task, bands.depth());
  const Tensor packed = packed_weights(task, panels);
  const int64_t pixel = task.groups * outputs;
  const int64_t work = task.batch * task.rows * task.columns * pixel * bands.depth();
  parallel_for(
      0, bands.count(), std::max<int64_t>(1, kGrain * bands.count() / std::max<int64_t>(work, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t band = begin; band < end; ++band) {
          check_interrupt();
          T* const result = task.result + bands.image(band) * task.image_step +
                            bands.first_row(band) * task.row_step * pixel;
          kernels.forward({bands.windows(band), task.groups, channels, outputs, bands.depth(),
                           packed.data<T>(), task.bias, result, task.row_step * pixel,
                           task.column_step * pixel, panels.together});
        }
      });
}

template <class T>
Tensor windows_weight_grad(const Correlation<T>& task, const T* grad) {
  const int64_t outputs = task.weights.outputs, channels = task.weights.majors;
  const Bands<T> bands(task, outputs);
  const int64_t pixel = task.groups * outputs, depth = bands.depth(), size = pixel * depth;
  const int64_t together = panels_of(task, depth).together;
  const int64_t work = task.batch * task.rows * task.columns * size;
  const int64_t parts =
      std::clamp<int64_t>(std::min(bands.count(), work / kGrain), 1, num_threads());
  const Tensor sums = empty(Shape{parts, size}, dtype_of<T>);
  T* const data = sums.data<T>();
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      std::fill_n(data + part * size, size, T(0));
      const int64_t last = bands.count() * (part + 1) / parts;
      for (int64_t band = bands.count() * part / parts; band < last; ++band) {
        check_interrupt();
        const WindowGrid<T> windows = bands.windows(band);
        const int64_t row = bands.image(band) * task.rows + bands.first_row(band);
        for (int64_t group = 0; group < task.groups; group += together) {
          WindowGrid<T> seen = windows;
          seen.source += group * channels;
          window_kernels<T>().add_products(
              {seen, together * outputs, depth, grad + row * task.columns * pixel + group * outputs,
               pixel, data + part * size + group * outputs * depth, together});
        }
      }
    }
  });
  add_parts(parts, size, data);
  const int64_t taps = static_cast<int64_t>(task.tap_rows.size()), line = together * outputs;
  return contiguous_data(
      make_view(sums, Shape{task.groups / together, together, taps, channels, outputs},
                Shape{line * depth, outputs, channels * line, line, 1}, sums.offset()));
}

#define FLAMBEAU_WINDOWS(T)                               \
  template bool fills_window_tiles<T>(int64_t);           \
  template bool has_high_window_tiles<T>();               \
  template bool is_near<T>(int64_t, int64_t, int64_t);    \
  template void correlate_windows(const Correlation<T>&); \
  template Tensor windows_weight_grad(const Correlation<T>&, const T*);
FLAMBEAU_WINDOWS(float)
FLAMBEAU_WINDOWS(double)
#undef FLAMBEAU_WINDOWS

}  // namespace flambeau::cpu
