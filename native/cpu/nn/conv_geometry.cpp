#include "cpu/nn/conv_geometry.h"

#include <algorithm>
#include <utility>

#include "core/base/checked.h"
#include "cpu/nn/conv_kernel.h"

namespace flambeau::cpu {

namespace {
constexpr int64_t kMostCovered = int64_t{1} << 40;
}

ConvGeometry conv_geometry(IntList input, IntList weight, IntList output, const Ints<2>& stride,
                           const Ints<2>& padding, const Ints<2>& dilation, int64_t groups) {
  const size_t channel = input.size() - 3;  // one image has no batch dim
  ConvGeometry geometry{
      channel ? input[0] : 1, groups, input[channel] / groups, weight[0] / groups, {}};
  int64_t covered = geometry.in_channels;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t windows = output[channel + 1 + i], taps = weight[2 + i];
    // A step that is never taken has no say, however long it is.
    geometry.axes[i] = {input[channel + 1 + i],      windows,    taps,
                        windows > 1 ? stride[i] : 1, padding[i], taps > 1 ? dilation[i] : 1};
    covered = checked_mul(covered, geometry.axes[i].covered(), "conv2d");
  }
  check(covered < kMostCovered, ErrorKind::runtime, "conv2d(): windows over ", covered,
        " elements of the padded image are not supported (stride ", ShapeText{stride}, ", padding ",
        ShapeText{padding}, ", dilation ", ShapeText{dilation}, ")");
  return geometry;
}

namespace {

/// pad(channel, the rows of a split plane that the image has, where to); all other rows are 0.
/// `rows.data`: of the first channel.
template <class T, class E, class Pad>
void over_split_planes(const PaddedPlanes& planes, int64_t first, const T* image, E* padded,
                       const Pad& pad) {
  const auto [down, across] = std::pair(planes.row_stride, planes.column_stride);
  // Of a line of planes with `stride`, indices i with 0 <= i * stride + shift < size.
  const auto inside = [](int64_t shift, int64_t stride, int64_t size, int64_t extent) {
    const int64_t begin = std::min(shift < 0 ? (-shift + stride - 1) / stride : 0, extent);
    const int64_t end = size > shift ? (size - shift + stride - 1) / stride : 0;
    return std::pair(begin, std::clamp<int64_t>(end, begin, extent));
  };
  for (int64_t c = 0; c < planes.channels; ++c)
    for (int64_t a = 0; a < down; ++a)
      for (int64_t b = 0; b < across; ++b, padded += planes.plane()) {
        const int64_t y = first * down + a - planes.top, x = b - planes.left;
        const auto [top, bottom] = inside(y, down, planes.rows, planes.height);
        const auto [begin, end] = inside(x, across, planes.columns, planes.pitch);
        std::fill_n(padded, top * planes.pitch, E(0));
        pad(c,
            SourceRows<T>{image + (y + top * down) * planes.columns + x + begin * across,
                          down * planes.columns, across, bottom - top, begin, end - begin,
                          planes.pitch},
            padded + top * planes.pitch);
        std::fill(padded + bottom * planes.pitch, padded + planes.plane(), E(0));
      }
}

}  // namespace

template <class T>
void pad_planes(const PaddedPlanes& planes, int64_t first, const T* image, T* padded) {
  const auto pad_rows = conv_kernels<T>().pad_rows;
  over_split_planes(planes, first, image, padded, [&](int64_t c, SourceRows<T> rows, T* to) {
    rows.data += planes.place(c);
    pad_rows(rows, to);
  });
}
template void pad_planes(const PaddedPlanes&, int64_t, const float*, float*);
template void pad_planes(const PaddedPlanes&, int64_t, const double*, double*);
template void pad_planes(const PaddedPlanes&, int64_t, const bfloat16*, bfloat16*);

void pad_pairs(const PaddedPlanes& planes, int64_t channels, int64_t first, const bfloat16* image,
               Bfloat16Pair* padded) {
  const auto pad_rows = conv_kernels<bfloat16>().pad_pairs;
  const int64_t plane = planes.rows * planes.columns;
  over_split_planes(planes, first, image, padded,
                    [&](int64_t c, SourceRows<bfloat16> rows, Bfloat16Pair* to) {
                      rows.data += 2 * c * plane;
                      pad_rows(rows, 2 * c + 1 < channels ? rows.data + plane : nullptr, to);
                    });
}

}  // namespace flambeau::cpu
