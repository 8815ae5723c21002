#include "cpu/channels_last.h"

#include "core/geometry/memory_format.h"

namespace flambeau::cpu {
namespace {

Shape channels_inside(IntList given) {
  Shape moved(given);
  moved.erase(1);
  moved.push_back(given[1]);
  return moved;
}

}  // namespace

bool is_pixel_rows(const Tensor& images) {
  return has_channels_inside(images.sizes(), images.strides()) &&
         with_channels_inside(images).is_contiguous();
}

Tensor with_channels_inside(const Tensor& images) {
  return make_view(images, channels_inside(images.sizes()), channels_inside(images.strides()),
                   images.offset());
}

Tensor dense_pixels(const Tensor& images) { return contiguous_data(with_channels_inside(images)); }

Tensor empty_channels_last(IntList sizes, DType dtype) {
  return empty_strided(sizes, channels_last_strides(sizes), dtype, {});
}

Tensor pixel_rows(const Tensor& images) {
  const Tensor dense = dense_pixels(images);
  const int64_t channels = images.sizes()[1];
  const int64_t pixels = images.numel() / std::max<int64_t>(channels, 1);
  return make_view(dense, Shape{pixels, channels, 1}, Shape{channels, 1, 1}, dense.offset());
}

}  // namespace flambeau::cpu
