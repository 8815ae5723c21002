#include <algorithm>

#include "core/geometry/memory_format.h"
#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/channels_last.h"
#include "cpu/linalg/gemm_kernel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/conv_columns.h"
#include "cpu/nn/conv_geometry.h"
#include "cpu/nn/conv_kernel.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/conv_parts.h"
#include "cpu/nn/conv_picked.h"
#include "cpu/nn/conv_pixels.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/planes.h"
#include "cpu/nn/unfolding.h"
#include "cpu/nn/winograd.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kSourceBytes = 384 << 10;  // of padded planes: half of L2
constexpr int64_t kImagesBytes = 1 << 20;    // of several images'
constexpr int64_t kPositions = 256;          // a pass over so many pays for reading the sums
constexpr int64_t kOutputsAtATime = 32;
constexpr int64_t kThreadWork = 400'000;  // multiplications that pay for a thread and its sums
constexpr int64_t kGemmSide = 8;          // channels that fill a good part of a tile
constexpr int64_t kBlocks = 96;  // of Winograd's, between two passes over the sums of all filters

/// Few images under many filters: blocks of the gradient, each the sum over the whole batch.
/// False if some of it is not finite.
bool run_winograd_blocks(const WinogradShape& shape, const ConvGeometry& geometry, float* out,
                         const float* grad, const float* input) {
  const WinogradKernels& all = winograd_kernels();
  const WinogradBatchKernels& kernels = all.batch;
  const int64_t batch = geometry.batch;
  const Tensor source =
      empty(Shape{kernels.source_size(shape, batch, kWinogradBlock)}, DType::float32);
  const Tensor grads = empty(Shape{kernels.grad_size(shape, batch)}, DType::float32);
  float* const v = source.data<float>();
  float* const g = grads.data<float>();
  parallel_for(0, 2 * batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (i < batch)
        kernels.transform(shape, batch, i, input, kWinogradBlock, v);
      else
        kernels.transform_grad(shape, batch, i - batch, grad, g);
  });
  const int64_t panels = (shape.outputs + all.panel_columns - 1) / all.panel_columns;
  const int64_t blocks = (shape.channels + kWinogradBlock - 1) / kWinogradBlock;
  return all_of(panels * blocks, 1, [&](int64_t i) {
    check_interrupt();
    return kernels.weight(shape, batch, i / blocks, i % blocks, v, g, out);
  });
}

/// 3x3 filters of unit stride, if there are enough channels and the gradient is finite. All are
/// dense, and, `by_pixels`, their channels lie next to each other.
bool try_winograd(const ConvGeometry& geometry, const Tensor& out, const Tensor& grad,
                  const Tensor& input, bool by_pixels = false) {
  for (const ConvAxis& axis : geometry.axes)
    if (axis.kernel != 3 || axis.stride != 1) return false;
  const auto& [rows, columns] = geometry.axes;
  const int64_t groups = geometry.groups, batch = geometry.batch;
  const WinogradShape shape{geometry.in_channels,
                            geometry.out_channels,
                            {rows.input, columns.input},
                            {rows.output, columns.output},
                            {rows.padding, columns.padding},
                            groups * geometry.in_channels * geometry.input_plane(),
                            groups * geometry.out_channels * geometry.output_plane(),
                            {rows.dilation, columns.dilation},
                            by_pixels};
  if (!winograd_pays(shape)) return false;
  const WinogradKernels& kernels = winograd_kernels();
  // Sums of all filters on each thread are written and read more than what is transformed once.
  const int64_t blocks = batch * shape.strips() * shape.strip_blocks();
  if (blocks * (shape.channels + shape.outputs) <=
      2 * num_threads() * shape.channels * shape.outputs) {
    for (int64_t group = 0; group < groups; ++group)
      if (!run_winograd_blocks(
              shape, geometry, out.data<float>() + group * shape.outputs * shape.channels * 9,
              grad.data<float>() + group * shape.outputs * geometry.output_plane(),
              input.data<float>() + group * shape.channels * geometry.input_plane()))
        return false;
    return true;
  }
  const WinogradCut cut(shape.image(), batch, kBlocks);
  const int64_t work = cut.part_blocks() * 16 * shape.channels * shape.outputs;
  const int64_t size = kernels.sums_size(shape);
  const int64_t threads = std::clamp<int64_t>(cut.parts * work / kThreadWork, 1,
                                              std::min<int64_t>(num_threads(), cut.parts));
  const Tensor sums = empty(Shape{threads * size}, DType::float32);
  for (int64_t group = 0; group < groups; ++group) {
    const float* source = input.data<float>() + group * shape.channels * geometry.input_plane();
    const float* from = grad.data<float>() + group * shape.outputs * geometry.output_plane();
    parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) {
        const int64_t first = cut.parts * thread / threads;
        for (int64_t i = first; i < cut.parts * (thread + 1) / threads; ++i) {
          check_interrupt();
          kernels.weight(shape, cut.part(i), source + cut.first_image(i) * shape.source_step,
                         from + cut.first_image(i) * shape.result_step, i > first,
                         sums.data<float>() + thread * size);
        }
      }
    });
    const int64_t lanes = kernels.lanes, steps = (shape.channels + lanes - 1) / lanes;
    const int64_t grain = std::max<int64_t>(1, kGrain / (16 * lanes * shape.outputs * threads));
    const bool done = all_of(steps, grain, [&](int64_t i) {
      return kernels.finish(shape, threads, size, sums.data<float>(), i * lanes,
                            std::min((i + 1) * lanes, shape.channels),
                            out.data<float>() + group * shape.outputs * shape.channels * 9);
    });
    if (!done) return false;
  }
  return true;
}

/// Small images share a pass over the sums of all filters.
int64_t images_at_a_time(const ConvGeometry& geometry, int64_t image_bytes) {
  const int64_t most = std::min(kPositions / std::max<int64_t>(geometry.output_plane(), 1),
                                kImagesBytes / std::max<int64_t>(image_bytes, 1));
  const int64_t share = (geometry.batch + num_threads() - 1) / num_threads();
  return std::clamp<int64_t>(most, 1, std::max<int64_t>(share, 1));
}

template <class T>
void run(const ConvGeometry& geometry, const Tensor& out, const Tensor& grad, const Tensor& input) {
  const auto& [rows, columns] = geometry.axes;
  const ConvWeightKernels<T>& kernels = conv_weight_kernels<T>();
  const int64_t groups = geometry.groups, outputs = geometry.out_channels;
  const int64_t taps = geometry.in_channels * geometry.kernel_size();
  const int64_t halo_rows = (rows.kernel - 1) * rows.dilation / rows.stride;
  const int64_t halo_columns = (columns.kernel - 1) * columns.dilation / columns.stride;
  PaddedPlanes planes =
      padded_planes(geometry, rows.output + halo_rows, columns.output + halo_columns);
  const bool in_place = planes.is_identity();
  // 1x1 filters: a product of two matrices that lie in memory.
  const bool pointwise =
      in_place && geometry.kernel_size() == 1 && taps >= kGemmSide && outputs >= kGemmSide;
  const bool by_outputs = pointwise && outputs > taps;  // the factor with more rows is not copied
  const int64_t row_bytes = planes.channels * rows.stride * columns.stride * planes.pitch *
                            static_cast<int64_t>(sizeof(T));
  int64_t item_rows = std::clamp<int64_t>(kSourceBytes / row_bytes - halo_rows, 1, rows.output);
  const int64_t spare = num_threads() / std::max<int64_t>(geometry.batch, 1);
  if (spare > 1) item_rows = std::min(item_rows, (rows.output + spare - 1) / spare);
  const int64_t items_per_image = (rows.output + item_rows - 1) / item_rows;
  const int64_t images = items_per_image > 1 || pointwise || outputs <= 2
                             ? 1
                             : images_at_a_time(geometry, (rows.output + halo_rows) * row_bytes);
  if (!in_place) planes.height = item_rows + halo_rows;

  std::vector<int64_t> offsets, places;
  for (int64_t c = 0; c < geometry.in_channels; ++c)
    for (int64_t r = 0; r < rows.kernel; ++r)
      for (int64_t s = 0; s < columns.kernel; ++s)
        offsets.push_back(c * planes.channel() +
                          planes.offset(r * rows.dilation, s * columns.dilation));
  const int64_t source_size = geometry.in_channels * geometry.input_plane();
  const int64_t image_step = in_place ? groups * source_size : planes.channels * planes.channel();
  for (int64_t n = 0; n < images; ++n)
    for (int64_t i = 0; i < item_rows; ++i)
      for (int64_t j = 0; j < columns.output; ++j)
        places.push_back(n * image_step + i * planes.pitch + j);

  // Each part of the items has sums of its own, which are added up at the end.
  const int64_t items = (geometry.batch + images - 1) / images * items_per_image;
  const int64_t work = items * images * item_rows * columns.output * taps * outputs * groups;
  const int64_t parts = std::clamp<int64_t>(std::min<int64_t>(num_threads(), work / kThreadWork), 1,
                                            std::max<int64_t>(items, 1));
  const int64_t group_size = taps * outputs;
  const Tensor sums = empty(Shape{parts, groups * group_size}, dtype_of<T>);
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      T* mine = sums.data<T>() + part * groups * group_size;
      std::fill_n(mine, groups * group_size, T(0));
      for (int64_t item = items * part / parts; item < items * (part + 1) / parts; ++item)
        for (int64_t group = 0; group < groups; ++group) {
          check_interrupt();
          const int64_t image = item / items_per_image * images;
          const int64_t count = std::min(images, geometry.batch - image);
          const int64_t first = item % items_per_image * item_rows;
          const int64_t last = std::min(first + item_rows, rows.output);
          const T* source = input.data<T>() + (image * groups + group) * source_size;
          if (in_place) {
            source += first * planes.pitch;
          } else {
            T* padded = scratch<T>(0, static_cast<size_t>(count * image_step));
            for (int64_t n = 0; n < count; ++n)
              pad_planes(planes, first, source + n * groups * source_size, padded + n * image_step);
            source = padded;
          }
          const int64_t plane = planes.plane(), grad_plane = geometry.output_plane();
          const T* g = grad.data<T>() + (image * groups + group) * outputs * grad_plane +
                       first * columns.output;
          const int64_t positions = (last - first) * columns.output;
          T* to = mine + group * group_size;
          const auto add_product = [&](int64_t m, int64_t n, MatrixView<T> a, MatrixView<T> b) {
            gemm_kernels<T>().gemm({m, n, positions, a, b, to, n, T(1), T(1), nullptr});
          };
          if (by_outputs)
            add_product(outputs, taps, {g, grad_plane, 1}, {source, 1, plane});
          else if (pointwise)
            add_product(taps, outputs, {source, plane, 1}, {g, 1, grad_plane});
          else
            kernels.add_products({taps, outputs, count * positions, offsets.data(), places.data(),
                                  columns.output, source, g, grad_plane, positions,
                                  groups * outputs * grad_plane, to});
        }
    }
  });
  // Vectors of outputs at a time, each of whose lines of sums is read once.
  const int64_t step = std::min<int64_t>(outputs, kOutputsAtATime);
  const int64_t steps = (outputs + step - 1) / step;
  parallel_for(0, groups * steps, std::max<int64_t>(1, kGrain / (taps * step * parts)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t group = i / steps, first = i % steps * step;
                   kernels.finish({taps, outputs, parts, groups * group_size,
                                   sums.data<T>() + group * group_size, by_outputs,
                                   out.data<T>() + group * group_size},
                                  first, std::min(first + step, outputs));
                 }
               });
}

/// The same of images that are channels-last, of one group.
bool try_winograd_by_pixels(const ConvGeometry& geometry, const Tensor& result, const Tensor& grad,
                            const Tensor& input) {
  if (result.dtype() != DType::float32 || geometry.groups != 1) return false;
  const Tensor turned = with_channels_inside(result);
  const Tensor out = turned.is_contiguous() ? turned : empty(turned.sizes(), result.dtype());
  if (!try_winograd(geometry, out, dense_pixels(grad), dense_pixels(input), true)) return false;
  if (!turned.is_contiguous()) copy_data(turned, out);
  return true;
}

}  // namespace

void conv2d_weight_grad(const Tensor& result, const Tensor& grad, const Tensor& input,
                        IntList weight_size, const Ints<2>& stride, const Ints<2>& padding,
                        const Ints<2>& dilation, int64_t groups) {
  if (result.numel() == 0) return;
  if (grad.numel() == 0) return fill_data(result, 0);
  const bool picks = sees_picked(weight_size, stride, padding);
  if (is_channels_last(input.sizes(), input.strides()) && input.dim() == 4) {
    const Tensor seen = picks ? picked(input, stride) : input;
    const ConvGeometry geometry =
        conv_geometry(seen.sizes(), weight_size, grad.sizes(), picks ? kUnitStride : stride,
                      padding, dilation, groups);
    if (try_winograd_by_pixels(geometry, result, grad, seen) ||
        try_pixels_weight_grad(geometry, result, grad, seen))
      return;
  }
  if (!result.is_contiguous()) {
    const Tensor dense = empty(result.sizes(), result.dtype());
    conv2d_weight_grad(dense, grad, input, weight_size, stride, padding, dilation, groups);
    return copy_data(result, dense);
  }
  if (computed_by_parts(
          result, grad, input, [&](const Tensor& out, const Tensor& g, const Tensor& x) {
            conv2d_weight_grad(out, g, x, weight_size, stride, padding, dilation, groups);
          })) {
    return;
  }
  if (picks)
    return conv2d_weight_grad(result, grad, contiguous_data(picked(input, stride)), weight_size,
                              kUnitStride, padding, dilation, groups);
  const ConvGeometry geometry =
      conv_geometry(input.sizes(), weight_size, grad.sizes(), stride, padding, dilation, groups);
  if (convolves_matrices(geometry, result.dtype())) {
    const Tensor g = contiguous_data(grad), x = contiguous_data(input);
    if (try_matrices_weight_grad(geometry, g.data<bfloat16>(), x.data<bfloat16>(),
                                 result.data<bfloat16>()))
      return;
  }
  if (multiplies_columns(geometry, result.dtype())) {
    const Tensor g = contiguous_data(grad);
    const Tensor x = columns_of_images(geometry, contiguous_data(input));
    const Tensor turned = with_rows_inside(result), out = empty(turned.sizes(), result.dtype());
    if (try_matrices_weight_grad(columns_geometry(geometry), g.data<bfloat16>(), x.data<bfloat16>(),
                                 out.data<bfloat16>()))
      return copy_data(turned, out);
  }
  with_float_compute(
      "conv2d_weight_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& g, const Tensor& x) {
        using T = decltype(zero);
        if (weight_grad_unfolds(geometry))
          return unfolded_weight_grad<T>(geometry, g.data<T>(), x.data<T>(), out.data<T>());
        if constexpr (std::is_same_v<T, float>)
          if (try_winograd(geometry, out, g, x)) return;
        if (try_planes_weight_grad<T>(geometry, g.data<T>(), x.data<T>(), out.data<T>())) return;
        run<T>(geometry, out, g, x);
      },
      grad, input);
}

}  // namespace flambeau::cpu
