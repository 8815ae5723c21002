#pragma once

#include <algorithm>

#include "core/backends/instruction_set.h"
#include "cpu/nn/conv_kernel.h"
#include "cpu/nn/winograd.h"

namespace flambeau::cpu {

/// How a square filter is cut into pieces that Winograd's filtering takes, along either axis.
/// Filters of 2n + 1 taps are n pieces of three, each of which makes two results of a block;
/// filters of twice as many taps as the stride are a piece of two taps for each place between two
/// steps, and make three results. Where results are apart instead, each place between is a phase.
struct WinogradPieces {
  int64_t taps;    ///< of a piece: 3 or 2
  int64_t pieces;  ///< of which a result is the sum
  int64_t phases;  ///< results for each step of the source
  int64_t source_block, piece_step, source_step;

  static WinogradPieces odd(int64_t side) { return {3, side / 2, 1, 2, 2, 1}; }
  static WinogradPieces strided(int64_t stride) { return {2, stride, 1, 3 * stride, 1, stride}; }
  static WinogradPieces spread(int64_t stride) { return {2, 1, stride, 3, 1, 1}; }

  int64_t side() const { return taps == 3 ? 2 * pieces + 1 : 2 * pieces * phases; }
  int64_t sums() const { return 5 - taps; }  ///< of a block and a phase
  int64_t result_block() const { return sums() * phases; }
  /// Pixel of the source that piece i of a block reads as its k-th of four.
  int64_t pixel(int64_t block, int64_t i, int64_t k) const {
    return block * source_block + i * piece_step + k * source_step;
  }
  /// Tap k of a piece, -1: none, as the piece before has it.
  int64_t tap(int64_t i, int64_t phase, int64_t k) const {
    if (taps == 3) return i > 0 && k == 0 ? -1 : 2 * i + k;
    return phases == 1 ? i + pieces * k : phase + phases * (1 - k);
  }
};

/// One group of the channels; [0] rows, [1] columns. Channels are whole vectors.
struct WinogradPiecesShape {
  WinogradPieces cut;
  int64_t channels, outputs;
  int64_t source[2], result[2];      ///< sizes of the planes
  int64_t border[2];                 ///< zeros above and to the left of the source
  int64_t lead[2];                   ///< results of the first block above and to the left of these
  int64_t source_step, result_step;  ///< from image to image

  int64_t depth() const { return cut.pieces * cut.pieces * channels; }
  int64_t phases() const { return cut.phases * cut.phases; }
  WinogradStrips strips() const { return {blocks_along(0), blocks_along(1)}; }

 private:
  int64_t blocks_along(int axis) const {
    return (result[axis] + lead[axis] + cut.result_block() - 1) / cut.result_block();
  }
};

inline constexpr int64_t kMostPieceTaps = 64;  // of a filter

struct WinogradPiecesKernels {
  /// Transforms the filters of outputs [panel * panel_columns, ...): `packed` for all phases.
  void (*pack)(const WinogradPiecesShape& shape, const ConvWeights<float>& weights, int64_t panel,
               float* packed);
  /// As WinogradKernels have it.
  bool (*forward)(const WinogradPiecesShape& shape, const WinogradPart& part, const float* packed,
                  const float* source, const float* bias, float* result);
  int64_t (*filter_size)(const WinogradPiecesShape& shape);  ///< floats of a packed panel
  int64_t panel_columns, lanes;
};

FLAMBEAU_IN_EACH_SET(const WinogradPiecesKernels& winograd_pieces_kernels();)

/// The kernels for the processor at hand.
inline const WinogradPiecesKernels& winograd_pieces_kernels() {
  static const WinogradPiecesKernels& best = FLAMBEAU_PICK(winograd_pieces_kernels)();
  return best;
}

}  // namespace flambeau::cpu
