#pragma once

#include "core/dispatch.h"
#include "cpu/nn/conv_kernel.h"

namespace flambeau::cpu {

/// A 3x3 convolution by Winograd's minimal filtering F(2x2, 3x3): every 2x2 block of the result is
/// made of 16 products per channel instead of 36. The source has been split into the four planes of
/// even and odd rows and columns, so that block q of the result reads unit steps.
struct WinogradBlock {
  int64_t channels, outputs;
  const float* weights;  ///< from pack_winograd
  const float* source;   ///< four planes per channel
  int64_t plane, pitch;  ///< elements of a split plane and of its rows
  int64_t first, count;  ///< blocks of the result, in positions of the split planes
  float* work;           ///< winograd_work(...) floats
  float* blocks;         ///< [outputs][4][kWinogradPositions]: the four elements of each block
};

inline constexpr int64_t kWinogradPositions = 64;  ///< blocks of the result at a time
inline int64_t winograd_work(int64_t channels, int64_t outputs) {
  return 16 * (channels + outputs) * kWinogradPositions;
}

struct WinogradKernels {
  /// Transforms the 3x3 filters of one panel of outputs; taps[t] is the offset of tap t in
  /// row-major order; packed[(xi * panels + panel) * channels * panel_rows + c * panel_rows + i].
  void (*pack)(const ConvWeights<float>& weights, int64_t panel, int64_t panels, float* packed);
  void (*run)(const WinogradBlock& block);
  /// to[2 i] = left[i] + bias, to[2 i + 1] = right[i] + bias
  void (*interleave)(const float* left, const float* right, float bias, int64_t count, float* to);
  int64_t panel_rows;
};

namespace baseline {
const WinogradKernels& winograd_kernels();
}
namespace avx2 {
const WinogradKernels& winograd_kernels();
}
namespace avx512 {
const WinogradKernels& winograd_kernels();
}

/// The kernels for the processor at hand.
inline const WinogradKernels& winograd_kernels() {
  static const WinogradKernels& best =
      instruction_set() == InstructionSet::avx512 ? avx512::winograd_kernels()
      : instruction_set() == InstructionSet::avx2 ? avx2::winograd_kernels()
                                                  : baseline::winograd_kernels();
  return best;
}

}  // namespace flambeau::cpu
