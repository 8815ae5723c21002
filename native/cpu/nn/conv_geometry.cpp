#include "cpu/nn/conv_geometry.h"

#include <algorithm>

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

template <class T>
void pad_planes(const PaddedPlanes& planes, int64_t first, const T* image, T* padded) {
  const int64_t step = planes.column_stride;
  const auto copy_row = conv_kernels<T>().copy_row;
  for (int64_t c = 0; c < planes.channels; ++c, image += planes.rows * planes.columns)
    for (int64_t a = 0; a < planes.row_stride; ++a)
      for (int64_t b = 0; b < step; ++b)
        for (int64_t i = 0; i < planes.height; ++i, padded += planes.pitch) {
          const int64_t y = (first + i) * planes.row_stride + a - planes.top;
          if (y < 0 || y >= planes.rows || planes.columns == 0) {
            std::fill_n(padded, planes.pitch, T(0));
            continue;
          }
          // Columns j with 0 <= j * step + shift < columns come from the image.
          const int64_t shift = b - planes.left;
          const int64_t begin = std::min(shift < 0 ? (-shift + step - 1) / step : 0, planes.pitch);
          const int64_t end =
              std::clamp<int64_t>((planes.columns - shift + step - 1) / step, begin, planes.pitch);
          const T* row = image + y * planes.columns + shift;
          for (int64_t j = 0; j < begin; ++j) padded[j] = T(0);
          copy_row(row + begin * step, step, end - begin, padded + begin);
          for (int64_t j = end; j < planes.pitch; ++j) padded[j] = T(0);
        }
}
template void pad_planes(const PaddedPlanes&, int64_t, const float*, float*);
template void pad_planes(const PaddedPlanes&, int64_t, const double*, double*);
template void pad_planes(const PaddedPlanes&, int64_t, const bfloat16*, bfloat16*);

}  // namespace flambeau::cpu
