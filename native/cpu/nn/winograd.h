#pragma once

#include "core/backends/instruction_set.h"
#include "cpu/nn/conv_kernel.h"

namespace flambeau::cpu {

/// A 3x3 convolution by Winograd's minimal filtering F(2x2, 3x3): every 2x2 block of the result is
/// made of 16 products per channel instead of 36. Vectors hold the channels of a pixel, a *line*,
/// so that images may be as small as they like; many of them share a matrix product. One group of
/// the channels; [0] rows, [1] columns.
struct WinogradShape {
  int64_t channels, outputs;
  int64_t source[2], result[2];      ///< sizes of the planes
  int64_t border[2];                 ///< zeros above and to the left of the source
  int64_t source_step, result_step;  ///< from image to image
  int64_t strips() const { return (result[0] + 1) / 2; }  ///< rows of blocks
  int64_t strip_blocks() const { return (result[1] + 1) / 2; }
};

/// Some images, or some strips of one image.
struct WinogradPart {
  int64_t images, first_strip, strips;
};

struct WinogradKernels {
  /// Transforms the filters of outputs [panel * panel_columns, ...) of all channels.
  void (*pack)(const WinogradShape& shape, const ConvWeights<float>& weights, int64_t panel,
               float* packed);
  /// result = the correlation, plus bias where there is one. False, and the result unfinished, if
  /// it is not finite: the transforms take differences of sums in which an infinite number stands
  /// more than once, and make NaN of it.
  bool (*forward)(const WinogradShape& shape, const WinogradPart& part, const float* packed,
                  const float* source, const float* bias, float* result);
  /// Adds the transformed gradient of the filters; `grad` is shaped like the result.
  void (*weight)(const WinogradShape& shape, const WinogradPart& part, const float* source,
                 const float* grad, float* sums);
  /// The filters' gradient [outputs, channels, 3, 3] of sums that are [parts, 16, channels, lines].
  void (*finish)(const WinogradShape& shape, int64_t parts, int64_t part_step, const float* sums,
                 float* result);
  int64_t panel_columns;  ///< outputs per packed panel
  int64_t lanes;          ///< lines are padded to a multiple
  int64_t padded(int64_t count) const { return (count + lanes - 1) / lanes * lanes; }
};

FLAMBEAU_IN_EACH_SET(const WinogradKernels& winograd_kernels();)

/// The kernels for the processor at hand.
inline const WinogradKernels& winograd_kernels() {
  static const WinogradKernels& best = FLAMBEAU_PICK(winograd_kernels)();
  return best;
}

/// Whether transforms pay, given enough images.
bool winograd_pays(const WinogradShape& shape);

/// How the work is cut: so many images, or strips of an image, at a time.
struct WinogradCut {
  int64_t batch, images, strips, parts_per_image, parts;
  int64_t work;  ///< multiplications of a part
  /// Parts have about `blocks` blocks, or fewer where threads would be idle.
  WinogradCut(const WinogradShape& shape, int64_t batch, int64_t blocks);
  int64_t first_image(int64_t i) const { return i / parts_per_image * images; }
  WinogradPart part(const WinogradShape& shape, int64_t i) const;
};

}  // namespace flambeau::cpu
