#pragma once

#include <algorithm>
#include <functional>

#include "core/backends/instruction_set.h"
#include "cpu/nn/conv_kernel.h"

namespace flambeau::cpu {

/// Rows of blocks of an image, how many blocks each has, and how many of them belong together.
struct WinogradStrips {
  int64_t count, blocks, apart = 1;
};

/// A 3x3 convolution by Winograd's minimal filtering F(2x2, 3x3): every 2x2 block of the result is
/// made of 16 products per channel instead of 36. Vectors hold the channels of a pixel, a *line*,
/// so that images may be as small as they like; many of them share a matrix product. One group of
/// the channels; [0] rows, [1] columns.
struct WinogradShape {
  int64_t channels, outputs;
  int64_t source[2], result[2];      ///< sizes of the planes
  int64_t border[2];                 ///< zeros above and to the left of the source
  int64_t source_step, result_step;  ///< from image to image
  int64_t dilation[2] = {1, 1};      ///< between the taps, and between the pixels of a block
  /// Of one group: the channels of a pixel lie next to each other, and in the filters' gradient
  /// those of a tap.
  bool by_pixels = false;
  int64_t strips() const { return blocks_along(0); }  ///< rows of blocks
  int64_t strip_blocks() const { return blocks_along(1); }
  WinogradStrips image() const { return {strips(), strip_blocks(), dilation[0]}; }
  /// Where block i begins: twice as many pixels as they are apart hold that many blocks.
  int64_t corner(int axis, int64_t i) const {
    return i / dilation[axis] * 2 * dilation[axis] + i % dilation[axis];
  }

 private:
  int64_t blocks_along(int axis) const {
    const int64_t apart = dilation[axis], pixels = result[axis];
    return pixels / (2 * apart) * apart + std::min(pixels % (2 * apart), apart);
  }
};

/// Some images, or some strips of one image: whole rows of the result.
struct WinogradPart {
  int64_t images, first_strip, strips;
};

/// Channels of a pass, whose panel of filters stays in L1; those of a block of the filters'
/// gradient, whole tiles and whole vectors.
inline constexpr int64_t kWinogradDepth = 128, kWinogradBlock = 48;

/// For few blocks under many filters, which would not stay in a cache once they are transformed:
/// the images of a batch are, then a panel of outputs at a time meets all of them. The matrices of
/// a batch have `source_size` and `grad_size` floats.
struct WinogradBatchKernels {
  /// Image i of a batch, `most` channels at a time: kWinogradDepth for `forward`, kWinogradBlock
  /// for `weight`. `source` and `grad`, shaped like the result: the first image.
  void (*transform)(const WinogradShape& shape, int64_t batch, int64_t i, const float* source,
                    int64_t most, float* v);
  void (*transform_grad)(const WinogradShape& shape, int64_t batch, int64_t i, const float* grad,
                         float* g);
  int64_t (*source_size)(const WinogradShape& shape, int64_t batch, int64_t most);
  int64_t (*grad_size)(const WinogradShape& shape, int64_t batch);
  /// Of outputs [panel * panel_columns, ...): as `forward` of all their filters.
  bool (*forward)(const WinogradShape& shape, int64_t batch, const ConvWeights<float>& weights,
                  int64_t panel, const float* v, const float* bias, float* result);
  /// The gradient of the filters of those outputs, channels [block * kWinogradBlock, ...). False,
  /// and the result unfinished, if it is not finite.
  bool (*weight)(const WinogradShape& shape, int64_t batch, int64_t panel, int64_t block,
                 const float* v, const float* g, float* result);
};

struct WinogradKernels {
  WinogradBatchKernels batch;
  /// Transforms the filters of outputs [panel * panel_columns, ...) of all channels.
  void (*pack)(const WinogradShape& shape, const ConvWeights<float>& weights, int64_t panel,
               float* packed);
  /// result = the correlation, plus bias where there is one. False, and the result unfinished, if
  /// it is not finite: the transforms take differences of sums in which an infinite number stands
  /// more than once, and make NaN of it.
  bool (*forward)(const WinogradShape& shape, const WinogradPart& part, const float* packed,
                  const float* source, const float* bias, float* result);
  /// Sets `sums` to the transformed gradient of the filters, or adds it; `grad` is shaped like the
  /// result.
  void (*weight)(const WinogradShape& shape, const WinogradPart& part, const float* source,
                 const float* grad, bool adds, float* sums);
  /// Channels [first, last) of the filters' gradient [outputs, channels, 3, 3], of the sums of all
  /// parts. False if they are not finite.
  bool (*finish)(const WinogradShape& shape, int64_t parts, int64_t part_step, const float* sums,
                 int64_t first, int64_t last, float* result);
  int64_t (*filter_size)(const WinogradShape& shape);  ///< floats of a packed panel
  int64_t (*sums_size)(const WinogradShape& shape);    ///< floats of a part's sums
  int64_t panel_columns;                               ///< outputs per packed panel
  int64_t lanes;                                       ///< channels that are finished at a time
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
  WinogradStrips image;
  int64_t batch, images, strips, parts_per_image, parts;
  /// Parts have about `blocks` blocks, or fewer where threads would be idle.
  WinogradCut(const WinogradStrips& image, int64_t batch, int64_t blocks);
  int64_t first_image(int64_t i) const { return i / parts_per_image * images; }
  int64_t part_blocks() const { return images * strips * image.blocks; }
  WinogradPart part(int64_t i) const;
};

/// Calls body(i) for all i < count on several threads, while it returns true; whether it always
/// did.
bool all_of(int64_t count, int64_t grain, const std::function<bool(int64_t)>& body);

}  // namespace flambeau::cpu
