#include "cpu/nn/conv_pixels.h"

#include <algorithm>
#include <cstring>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/channels_last.h"
#include "cpu/linalg/gemm.h"
#include "cpu/nn/conv_task.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kFewChannels = 16;       // of a group: their lines are shorter than vectors
constexpr int64_t kWinogradChannels = 16;  // that pay for turning images, and for transforms
constexpr int64_t kLeastPatches = 1 << 19, kMostPatches = 1 << 23;  // bytes, at a time

bool is_pointwise(const ConvGeometry& g) {
  return g.kernel_size() == 1 && g.axes[0].padding == 0 && g.axes[1].padding == 0 &&
         g.axes[0].stride == 1 && g.axes[1].stride == 1;
}

bool has_filter_per_channel(const ConvGeometry& g) {
  return g.groups > 1 && g.in_channels == 1 && g.out_channels == 1;
}

/// Whether row-major images are convolved with fewer products than filters have elements.
bool has_transforms(const ConvGeometry& g, DType dtype, bool of_weights = false) {
  const auto& [rows, columns] = g.axes;
  if (dtype != DType::float32 || rows.kernel != columns.kernel || rows.stride != columns.stride)
    return false;
  if (std::min(g.in_channels, g.out_channels) < kWinogradChannels) return false;
  if (of_weights) return rows.stride == 1 && rows.kernel == 3;
  const bool is_square = rows.stride == 1 && (rows.kernel == 3 || rows.kernel == 5);
  return is_square || (rows.kernel > 2 && rows.kernel == 2 * rows.stride);
}

/// Whether filters fill vectors, and lines of patches are worth copying.
bool fills_lines(const ConvGeometry& g) {
  const int64_t line = g.in_channels * g.axes[1].kernel;
  return g.groups == 1 && g.out_channels >= kFewChannels &&
         line >= (is_pointwise(g) ? kFewChannels : 2 * kFewChannels);
}

/// Whether rows of taps alone are lines that are worth multiplying where they lie.
bool fills_rows(const ConvGeometry& g) {
  return g.groups == 1 && g.out_channels >= kFewChannels && g.in_channels < kFewChannels / 2 &&
         g.axes[1].kernel > 1 && g.axes[1].dilation == 1 && g.axes[1].padding >= 0;
}

bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// Images as [batch, rows, columns, channels], dense.
Tensor pixels_of(const Tensor& images) { return contiguous_data(with_channels_inside(images)); }

/// [filters, channels, rows, columns] by `order`, dense.
Tensor ordered(const Tensor& weight, const std::array<size_t, 4>& order) {
  Shape sizes, strides;
  for (size_t dim : order) {
    sizes.push_back(weight.sizes()[dim]);
    strides.push_back(weight.strides()[dim]);
  }
  return contiguous_data(make_view(weight, sizes, strides, weight.offset()));
}

/// [taps, filters, channels], the taps from the last to the first: what meets the gradient.
template <class T>
Tensor reversed(const Tensor& weight) {
  const Tensor taps = ordered(weight, {2, 3, 0, 1}), result = empty(taps.sizes(), taps.dtype());
  const int64_t count = taps.size(0) * taps.size(1), step = taps.size(2) * taps.size(3);
  for (int64_t t = 0; t < count; ++t)
    std::copy_n(taps.data<T>() + t * step, step, result.data<T>() + (count - 1 - t) * step);
  return result;
}

/// What a stride-1 convolution of the gradient looks like that gives the gradient of the input.
ConvGeometry transposed(const ConvGeometry& g) {
  ConvGeometry result = g;
  std::swap(result.in_channels, result.out_channels);
  for (ConvAxis& axis : result.axes) {
    std::swap(axis.input, axis.output);
    axis.padding = (axis.kernel - 1) * axis.dilation - axis.padding;
  }
  return result;
}

/// Copies a line of a patch, which is often shorter than what a call of the C library pays for.
template <class T>
void copy_line(const T* from, int64_t count, T* to) {
  constexpr int64_t kLine = 32 / static_cast<int64_t>(sizeof(T)), kShort = 8 * kLine;
  if (count > kShort || count < kLine) {
    std::copy_n(from, count, to);
    return;
  }
  for (int64_t i = 0; i < count - kLine; i += kLine) std::memcpy(to + i, from + i, 32);
  std::memcpy(to + count - kLine, from + count - kLine, 32);
}

/// Rows of patches, [positions, taps, channels], of rows [first, last) of the results.
template <class T>
void fill_patches(const ConvGeometry& g, const T* images, int64_t first, int64_t last, T* patches) {
  const auto& [rows, columns] = g.axes;
  const int64_t channels = g.in_channels, line = columns.kernel * channels;
  const int64_t depth = rows.kernel * line;
  const bool adjoin = columns.dilation == 1;
  parallel_for(first, last, std::max<int64_t>(1, kGrain / (columns.output * depth + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const T* const image = images + row / rows.output * g.input_plane() * channels;
                   const int64_t top = row % rows.output * rows.stride - rows.padding;
                   for (int64_t j = 0; j < columns.output; ++j) {
                     T* to = patches + ((row - first) * columns.output + j) * depth;
                     const int64_t left = j * columns.stride - columns.padding;
                     const bool inside =
                         adjoin && left >= 0 && left + columns.kernel <= columns.input;
                     for (int64_t r = 0; r < rows.kernel; ++r, to += line) {
                       const int64_t y = top + r * rows.dilation;
                       if (y < 0 || y >= rows.input) {
                         std::fill_n(to, line, T(0));
                         continue;
                       }
                       const T* const from = image + y * columns.input * channels;
                       if (inside) {
                         copy_line(from + left * channels, line, to);
                         continue;
                       }
                       for (int64_t s = 0; s < columns.kernel; ++s) {
                         const int64_t x = left + s * columns.dilation;
                         if (x < 0 || x >= columns.input)
                           std::fill_n(to + s * channels, channels, T(0));
                         else
                           copy_line(from + x * channels, channels, to + s * channels);
                       }
                     }
                   }
                 }
               });
}

/// Calls body(first row, last, patches) for parts of the rows of all results.
template <class T, class Body>
void over_patches(const ConvGeometry& g, const T* images, const Body& body) {
  const auto& [rows, columns] = g.axes;
  const int64_t depth = g.in_channels * g.kernel_size(), all = g.batch * rows.output;
  const int64_t row_bytes = columns.output * depth * static_cast<int64_t>(sizeof(T));
  const int64_t filters = depth * g.out_channels * static_cast<int64_t>(sizeof(T));
  const int64_t bytes = std::clamp(8 * filters, kLeastPatches, kMostPatches);
  const int64_t together = std::clamp<int64_t>(bytes / std::max<int64_t>(row_bytes, 1), 1, all);
  const Tensor patches = empty(Shape{together * columns.output * depth}, dtype_of<T>);
  for (int64_t row = 0; row < all; row += together) {
    check_interrupt();
    const int64_t last = std::min(row + together, all);
    fill_patches(g, images, row, last, patches.data<T>());
    body(row, last, patches.data<T>());
  }
}

/// `weights`: [taps, channels, filters].
template <class T>
void convolve_patches(const ConvGeometry& g, const T* images, const T* weights, const T* bias,
                      T* result) {
  const int64_t depth = g.in_channels * g.kernel_size(), filters = g.out_channels;
  const auto multiply = [&](int64_t positions, const T* patches, T* to) {
    gemm<T>({positions,
             filters,
             depth,
             {patches, depth, 1},
             {weights, filters, 1},
             to,
             filters,
             GemmFactor<T>(1),
             GemmFactor<T>(0),
             bias});
  };
  if (is_pointwise(g)) return multiply(g.batch * g.output_plane(), images, result);
  const int64_t columns = g.axes[1].output;
  over_patches(g, images, [&](int64_t first, int64_t last, const T* patches) {
    multiply((last - first) * columns, patches, result + first * columns * filters);
  });
}

/// Images among zeros, [batch, rows, columns, channels], as far as windows reach.
template <class T>
Tensor framed(const ConvGeometry& g, const T* images) {
  const auto& [rows, columns] = g.axes;
  const int64_t channels = g.in_channels, height = rows.covered(), width = columns.covered();
  const int64_t left = std::max<int64_t>(columns.padding, 0);
  const int64_t kept = std::clamp<int64_t>(width - left, 0, columns.input);
  const Tensor result = empty(Shape{g.batch, height, width, channels}, dtype_of<T>);
  parallel_for(0, g.batch * height, std::max<int64_t>(1, kGrain / (width * channels)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   T* const to = result.data<T>() + row * width * channels;
                   const int64_t y = row % height - rows.padding;
                   const bool inside = y >= 0 && y < rows.input;
                   const int64_t count = inside ? kept * channels : 0, first = left * channels;
                   std::fill_n(to, inside ? first : width * channels, T(0));
                   if (!inside) continue;
                   std::copy_n(images + (row / height * rows.input + y) * columns.input * channels,
                               count, to + first);
                   std::fill(to + first + count, to + width * channels, T(0));
                 }
               });
  return result;
}

/// Images of few channels: a product for each row of taps, whose windows overlap in memory.
template <class T>
void convolve_lines(const ConvGeometry& g, const T* images, const T* weights, const T* bias,
                    T* result) {
  const auto& [rows, columns] = g.axes;
  const int64_t filters = g.out_channels, line = columns.kernel * g.in_channels;
  const Tensor owner = framed(g, images);
  const T* const padded = owner.data<T>();
  const int64_t pitch = columns.covered() * g.in_channels, work = columns.output * filters * line;
  parallel_for(
      0, g.batch * rows.output, std::max<int64_t>(1, kGrain / (work * rows.kernel)),
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t image = row / rows.output, top = row % rows.output * rows.stride;
          for (int64_t r = 0; r < rows.kernel; ++r) {
            const int64_t y = image * rows.covered() + top + r * rows.dilation;
            gemm_kernels<T>().gemm({columns.output,
                                    filters,
                                    line,
                                    {padded + y * pitch, columns.stride * g.in_channels, 1},
                                    {weights + r * line * filters, filters, 1},
                                    result + row * columns.output * filters,
                                    filters,
                                    T(1),
                                    T(r > 0 ? 1 : 0),
                                    r == 0 ? bias : nullptr});
          }
        }
      });
}

/// The elements that each of an axis' windows meets.
TapTable windows_of(const ConvAxis& axis) {
  TapTable table{{}, {0}};
  for (int64_t i = 0; i < axis.output; ++i) {
    for (int64_t t = 0; t < axis.kernel; ++t) {
      const int64_t place = i * axis.stride - axis.padding + t * axis.dilation;
      if (place >= 0 && place < axis.input) table.meetings.push_back({t, place});
    }
    table.begins.push_back(static_cast<int64_t>(table.meetings.size()));
  }
  return table;
}

/// The windows that meet each of an axis' elements.
TapTable windows_over(const ConvAxis& axis) {
  TapTable table{{}, {0}};
  for (int64_t i = 0; i < axis.input; ++i) {
    for (int64_t t = 0; t < axis.kernel; ++t) {
      const int64_t place = i + axis.padding - t * axis.dilation;
      if (place >= 0 && place % axis.stride == 0 && place / axis.stride < axis.output)
        table.meetings.push_back({t, place / axis.stride});
    }
    table.begins.push_back(static_cast<int64_t>(table.meetings.size()));
  }
  return table;
}

template <class T>
void filter_channels(const ChannelFilter<T>& call) {
  const int64_t taps =
      static_cast<int64_t>(call.columns->meetings.size() * call.rows->meetings.size());
  const int64_t rows = call.batch * call.result_rows;
  const int64_t work = taps / std::max<int64_t>(call.result_rows, 1) * call.channels;
  parallel_for(
      0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
      [&](int64_t begin, int64_t end) { channel_filter_kernels<T>().filter(call, begin, end); });
}

/// The gradient of the filters of all channels, [taps, channels]; threads have sums of their own.
template <class T>
Tensor channel_weights_grad(const ConvGeometry& g, const T* images, const T* grads) {
  constexpr int64_t kParts = 16;
  const int64_t size = g.kernel_size() * g.groups, rows = g.batch * g.axes[0].output;
  const int64_t parts = std::clamp<int64_t>(rows * g.axes[1].output / 64, 1, kParts);
  const Tensor sums = empty(Shape{parts, size}, dtype_of<T>);
  fill_data(sums, 0);
  T* const data = sums.data<T>();
  const int64_t work = g.batch * g.output_plane() * size / parts;
  parallel_for(0, parts, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   channel_filter_kernels<T>().weights(
                       {&g, g.groups, images, grads, data + i * size}, rows * i / parts,
                       rows * (i + 1) / parts);
               });
  for (int64_t i = 1; i < parts; ++i)
    for (int64_t j = 0; j < size; ++j) data[j] += data[i * size + j];
  return make_view(sums, Shape{g.axes[0].kernel, g.axes[1].kernel, 1, g.groups},
                   Shape{g.axes[1].kernel * g.groups, g.groups, g.groups, 1}, sums.offset());
}

/// Adds the columns of windows, [positions, taps, channels], to the elements that they meet.
template <class T>
void fold_patches(const ConvGeometry& g, const TapTable& rows, const TapTable& columns,
                  int64_t image, int64_t images, const T* patches, T* result) {
  const int64_t channels = g.in_channels, depth = channels * g.kernel_size();
  const int64_t width = g.axes[1].input, height = g.axes[0].input;
  const int64_t work = width * channels * g.kernel_size();
  parallel_for(0, images * height, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const size_t y = static_cast<size_t>(i % height);
                   const T* const mine = patches + i / height * g.output_plane() * depth;
                   for (int64_t x = 0; x < width; ++x) {
                     T* const to = result + ((image * height + i) * width + x) * channels;
                     std::fill_n(to, channels, T(0));
                     for (int64_t a = rows.begins[y]; a < rows.begins[y + 1]; ++a) {
                       const auto& row = rows.meetings[static_cast<size_t>(a)];
                       for (int64_t b = columns.begins[static_cast<size_t>(x)];
                            b < columns.begins[static_cast<size_t>(x) + 1]; ++b) {
                         const auto& column = columns.meetings[static_cast<size_t>(b)];
                         const T* const from =
                             mine + (row.place * g.axes[1].output + column.place) * depth +
                             (row.tap * g.axes[1].kernel + column.tap) * channels;
#pragma omp simd
                         for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
                       }
                     }
                   }
                 }
               });
}

/// The gradient of the input by way of all windows'. `weights`: [filters, taps, channels].
template <class T>
void spread_patches(const ConvGeometry& g, const T* grads, const T* weights, T* result) {
  const int64_t depth = g.in_channels * g.kernel_size(), positions = g.output_plane();
  const int64_t bytes = positions * depth * static_cast<int64_t>(sizeof(T));
  const int64_t together =
      std::clamp<int64_t>(kMostPatches / std::max<int64_t>(bytes, 1), 1, g.batch);
  const Tensor patches = empty(Shape{together * positions * depth}, dtype_of<T>);
  const TapTable rows = windows_over(g.axes[0]), columns = windows_over(g.axes[1]);
  for (int64_t n = 0; n < g.batch; n += together) {
    check_interrupt();
    const int64_t images = std::min(together, g.batch - n);
    gemm<T>({images * positions,
             depth,
             g.out_channels,
             {grads + n * positions * g.out_channels, g.out_channels, 1},
             {weights, depth, 1},
             patches.data<T>(),
             depth});
    fold_patches(g, rows, columns, n, images, patches.data<T>(), result);
  }
}

/// A correlation with 3x3 taps, read where they lie: element (i, (j, t)) of the weights is at
/// i * row + j * major + taps[t]. False, and the result unfinished, where that does not pay, or
/// numbers are not finite.
bool try_transforms(const ConvGeometry& g, const float* images, const ConvWeights<float>& weights,
                    const float* bias, float* result) {
  if (g.kernel_size() != 9 || g.groups != 1) return false;
  ForwardTask<float> forward(g, weights.data);
  forward.task.weights = weights;
  forward.task.source = images;
  forward.task.result = result;
  forward.task.bias = bias;
  forward.task.by_pixels = true;
  return try_winograd(forward.task);
}

/// Where the taps of a filter lie, from the last to the first where they meet the gradient.
std::vector<int64_t> places_of_taps(const Tensor& weight, bool reversed) {
  std::vector<int64_t> taps;
  for (int64_t r = 0; r < weight.size(2); ++r)
    for (int64_t s = 0; s < weight.size(3); ++s)
      taps.push_back(r * weight.strides()[2] + s * weight.strides()[3]);
  if (reversed) std::reverse(taps.begin(), taps.end());
  return taps;
}

/// Filters as Winograd's transforms read them: row-major, or channels-last.
Tensor readable(const Tensor& weight) {
  return weight.is_contiguous() || is_pixel_rows(weight) ? weight : contiguous_data(weight);
}

/// The gradient of filters: sums over positions of products of patches and gradients. Where there
/// are many positions, threads share them, and have sums of their own.
template <class T>
class PatchProducts {
 public:
  explicit PatchProducts(const ConvGeometry& g)
      : g_(g),
        depth_(g.in_channels * g.kernel_size()),
        filters_(g.out_channels),
        by_filters_(depth_ >= filters_) {
    const int64_t positions = g.batch * g.output_plane();
    const bool has_many = positions * (depth_ + filters_) > kManyReads * depth_ * filters_;
    parts_ = has_many ? num_threads() : 1;
    sums_ = empty(Shape{parts_, depth_ * filters_}, dtype_of<T>);
  }

  void add(int64_t positions, const T* patches, const T* grads) {
    const MatrixView<T> rows{patches, depth_, 1}, others{grads, filters_, 1};
    // The factor with fewer lines is what is turned.
    const MatrixView<T>&a = by_filters_ ? others : rows, &b = by_filters_ ? rows : others;
    const auto call = [&](int64_t first, int64_t last, T* sums, bool adds) {
      return GemmCall<T>{std::min(depth_, filters_),
                         std::max(depth_, filters_),
                         last - first,
                         a.at(first, 0).transposed(),
                         b.at(first, 0),
                         sums,
                         std::max(depth_, filters_),
                         T(1),
                         T(adds ? 1 : 0)};
    };
    T* const sums = sums_.data<T>();
    if (parts_ == 1) {
      gemm<T>(call(0, positions, sums, has_begun_));
    } else {
      parallel_for(0, parts_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* const mine = sums + i * depth_ * filters_;
          const int64_t last = positions * (i + 1) / parts_;
          int64_t first = positions * i / parts_;
          gemm_kernels<T>().gemm(call(first, std::min(first + kPositions, last), mine, has_begun_));
          for (first += kPositions; first < last; first += kPositions)
            gemm_kernels<T>().gemm(call(first, std::min(first + kPositions, last), mine, true));
        }
      });
    }
    has_begun_ = true;
  }

  /// [filters, rows, columns, channels]
  Tensor sums() const {
    const int64_t size = depth_ * filters_, line = g_.axes[1].kernel * g_.in_channels;
    T* const sums = sums_.data<T>();
    parallel_for(0, parts_ > 1 ? size : 0, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = 1; i < parts_; ++i) {
        const T* const from = sums + i * size;
#pragma omp simd
        for (int64_t j = begin; j < end; ++j) sums[j] += from[j];
      }
    });
    const int64_t filter = by_filters_ ? depth_ : 1, element = by_filters_ ? 1 : filters_;
    return make_view(sums_, Shape{filters_, g_.axes[0].kernel, g_.axes[1].kernel, g_.in_channels},
                     Shape{filter, line * element, g_.in_channels * element, element},
                     sums_.offset());
  }

 private:
  static constexpr int64_t kManyReads = 4, kPositions = 512;
  const ConvGeometry& g_;
  int64_t depth_, filters_, parts_;
  bool by_filters_, has_begun_ = false;
  Tensor sums_;
};

}  // namespace

bool try_convolve_pixels(const ConvGeometry& g, const Tensor& result, const Tensor& input,
                         const Tensor& weight, const Tensor& bias) {
  if (!is_float(result.dtype())) return false;
  const bool per_channel = has_filter_per_channel(g);
  const bool transforms = !per_channel && has_transforms(g, result.dtype());
  const bool by_rows = !fills_lines(g) && fills_rows(g);
  const bool is_turned = (transforms && g.kernel_size() != 9) || (!fills_lines(g) && !by_rows);
  if (!per_channel && is_turned) return false;
  const Tensor images = pixels_of(input), out = with_channels_inside(result);
  if (transforms) {
    const Tensor w = readable(weight), b = bias.defined() ? contiguous_data(bias) : bias;
    const std::vector<int64_t> taps = places_of_taps(w, false);
    const ConvWeights<float> weights{w.data<float>(), g.out_channels, w.strides()[0],
                                     g.in_channels,   w.strides()[1], 9,
                                     taps.data()};
    return try_transforms(g, images.data<float>(), weights, b.defined() ? b.data<float>() : nullptr,
                          out.data<float>());
  }
  const Tensor filters = ordered(weight, {2, 3, 1, 0});
  const Tensor shifts = bias.defined() ? contiguous_data(bias) : bias;
  const auto run = [&]<class T>(T) {
    const T* const b = shifts.defined() ? shifts.data<T>() : nullptr;
    if (by_rows) return convolve_lines<T>(g, images.data<T>(), filters.data<T>(), b, out.data<T>());
    if (!per_channel)
      return convolve_patches<T>(g, images.data<T>(), filters.data<T>(), b, out.data<T>());
    const TapTable rows = windows_of(g.axes[0]), columns = windows_of(g.axes[1]);
    filter_channels<T>({g.batch, g.groups, g.axes[0].input, g.axes[1].input, g.axes[0].output,
                        g.axes[1].output, g.axes[1].kernel, &rows, &columns, images.data<T>(),
                        filters.data<T>(), b, out.data<T>()});
  };
  result.dtype() == DType::float32 ? run(float()) : run(double());
  return true;
}

bool try_pixels_input_grad(const ConvGeometry& g, const Tensor& result, const Tensor& grad,
                           const Tensor& weight) {
  if (!is_float(result.dtype())) return false;
  const bool per_channel = has_filter_per_channel(g);
  const bool has_strides = g.axes[0].stride > 1 || g.axes[1].stride > 1;
  const bool transforms = !per_channel && has_transforms(g, result.dtype());
  if (!per_channel && (!fills_lines(g) || (transforms && g.kernel_size() != 9))) return false;
  const Tensor grads = pixels_of(grad), out = with_channels_inside(result);
  if (transforms) {
    const Tensor w = readable(weight);
    const std::vector<int64_t> taps = places_of_taps(w, true);
    const ConvWeights<float> weights{w.data<float>(), g.in_channels,  w.strides()[1],
                                     g.out_channels,  w.strides()[0], 9,
                                     taps.data()};
    return try_transforms(transposed(g), grads.data<float>(), weights, nullptr, out.data<float>());
  }
  const auto run = [&]<class T>(T) {
    if (per_channel) {
      const Tensor filters = ordered(weight, {2, 3, 1, 0});
      const TapTable rows = windows_over(g.axes[0]), columns = windows_over(g.axes[1]);
      return filter_channels<T>({g.batch, g.groups, g.axes[0].output, g.axes[1].output,
                                 g.axes[0].input, g.axes[1].input, g.axes[1].kernel, &rows,
                                 &columns, grads.data<T>(), filters.data<T>(), nullptr,
                                 out.data<T>()});
    }
    if (has_strides)
      return spread_patches<T>(g, grads.data<T>(), ordered(weight, {0, 2, 3, 1}).data<T>(),
                               out.data<T>());
    convolve_patches<T>(transposed(g), grads.data<T>(), reversed<T>(weight).template data<T>(),
                        static_cast<const T*>(nullptr), out.data<T>());
  };
  result.dtype() == DType::float32 ? run(float()) : run(double());
  return true;
}

bool try_pixels_weight_grad(const ConvGeometry& g, const Tensor& result, const Tensor& grad,
                            const Tensor& input) {
  if (!is_float(result.dtype())) return false;
  const bool per_channel = has_filter_per_channel(g);
  if (!per_channel && (!fills_lines(g) || has_transforms(g, result.dtype(), true))) return false;
  const Tensor grads = pixels_of(grad), images = pixels_of(input);
  const auto run = [&]<class T>(T) {
    if (per_channel) {
      const Tensor sums = channel_weights_grad<T>(g, images.data<T>(), grads.data<T>());
      return copy_data(make_view(result, Shape{result.size(2), result.size(3), 1, g.groups},
                                 Shape{result.strides()[2], result.strides()[3],
                                       result.strides()[1], result.strides()[0]},
                                 result.offset()),
                       sums);
    }
    PatchProducts<T> products(g);
    const int64_t columns = g.axes[1].output;
    if (is_pointwise(g))
      products.add(g.batch * g.output_plane(), images.data<T>(), grads.data<T>());
    else
      over_patches(g, images.data<T>(), [&](int64_t first, int64_t last, const T* patches) {
        products.add((last - first) * columns, patches,
                     grads.data<T>() + first * columns * g.out_channels);
      });
    copy_data(with_channels_inside(result), products.sums());
  };
  result.dtype() == DType::float32 ? run(float()) : run(double());
  return true;
}

}  // namespace flambeau::cpu
