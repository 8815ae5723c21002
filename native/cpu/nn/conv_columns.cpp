#include "cpu/nn/conv_columns.h"

#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/matrix_conv.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kLeastColumns = 8;  // fewer leave most of a register empty

/// Columns of the result, [begin, end), where a tap that is `offset` columns behind the window's
/// first place meets the image.
struct Met {
  int64_t begin, end;
};
Met met(const ConvAxis& axis, int64_t offset) {
  const int64_t step = axis.stride, left = axis.input - offset;
  const int64_t begin = offset < 0 ? (-offset + step - 1) / step : 0;
  const int64_t end = left > 0 ? (left + step - 1) / step : 0;
  return {std::min(begin, axis.output), std::clamp(end, std::min(begin, axis.output), axis.output)};
}

}  // namespace

bool multiplies_columns(const ConvGeometry& g, DType dtype) {
  const ConvGeometry columns = columns_geometry(g);
  return g.axes[1].kernel > 1 && !convolves_matrices(g, dtype) &&
         convolves_matrices(columns, dtype, kLeastColumns);
}

ConvGeometry columns_geometry(const ConvGeometry& g) {
  ConvGeometry result = g;
  result.in_channels *= g.axes[1].kernel;
  const int64_t width = g.axes[1].output;
  result.axes[1] = {width, width, 1, 1, 0, 1};
  return result;
}

Tensor columns_of_images(const ConvGeometry& g, const Tensor& images) {
  const auto& [rows, columns] = g.axes;
  const int64_t planes = g.batch * g.groups * g.in_channels, size = rows.input * columns.output;
  const Tensor result =
      empty(Shape{planes, columns.kernel, rows.input, columns.output}, DType::bfloat16);
  const bfloat16* const from = images.data<bfloat16>();
  bfloat16* const to = result.data<bfloat16>();
  const auto pad_rows = conv_kernels<bfloat16>().pad_rows;
  parallel_for(
      0, planes * columns.kernel, std::max<int64_t>(1, kGrain / std::max<int64_t>(size, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t offset = i % columns.kernel * columns.dilation - columns.padding;
          const Met range = met(columns, offset);
          pad_rows(
              {from + i / columns.kernel * g.input_plane() + offset + range.begin * columns.stride,
               columns.input, columns.stride, rows.input, range.begin, range.end - range.begin,
               columns.output},
              to + i * size);
        }
      });
  return result;
}

Tensor columns_of_pixels(const ConvGeometry& g, const Tensor& pixels) {
  const auto& [rows, columns] = g.axes;
  const int64_t lines = g.batch * rows.input, channels = g.in_channels;
  const int64_t width = columns.kernel * channels, size = columns.output * width;
  const Tensor result = empty(Shape{lines, columns.output, width}, DType::bfloat16);
  const bfloat16* const from = pixels.data<bfloat16>();
  bfloat16* const to = result.data<bfloat16>();
  const auto copy_pixels = matrix_conv_kernels().copy_pixels;
  // Windows that lie inside, whose taps follow each other, are copied at once.
  const bool adjoin = columns.dilation == 1;
  const Met first = met(columns, -columns.padding);
  const Met last = met(columns, columns.kernel - 1 - columns.padding);
  const int64_t inner = first.begin, inner_end = adjoin ? std::max(last.end, inner) : inner;
  parallel_for(0, lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(size, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const bfloat16* const row = from + i * columns.input * channels;
                   bfloat16* const line = to + i * size;
                   const auto place = [&](int64_t j) {
                     return j * columns.stride - columns.padding;
                   };
                   copy_pixels(row + place(inner) * channels, columns.stride * channels,
                               inner_end - inner, width, line + inner * width, width);
                   for (int64_t j = 0; j < columns.output; ++j) {
                     if (j == inner) j = inner_end;
                     if (j >= columns.output) break;
                     for (int64_t s = 0; s < columns.kernel; ++s) {
                       const int64_t x = place(j) + s * columns.dilation;
                       bfloat16* const tap = line + j * width + s * channels;
                       if (x < 0 || x >= columns.input)
                         std::fill_n(tap, channels, bfloat16(0));
                       else
                         std::copy_n(row + x * channels, channels, tap);
                     }
                   }
                 }
               });
  return result;
}

Tensor with_rows_inside(const Tensor& filters) {
  const Shape &sizes = filters.sizes(), &steps = filters.strides();
  return make_view(filters, Shape{sizes[0], sizes[1], sizes[3], sizes[2]},
                   Shape{steps[0], steps[1], steps[3], steps[2]}, filters.offset());
}

}  // namespace flambeau::cpu
