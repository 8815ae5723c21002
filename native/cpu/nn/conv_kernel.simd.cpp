#include "cpu/nn/conv_kernel.h"

#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kDepth = 768;      // of a pass over a block: its part of the source stays in L1 and L2
constexpr int64_t kPositions = 256;  // of a packed panel of the gradient

/// Rows of a that start anywhere; step p of all of them lies places[p] further.
template <class T>
struct PlacedRows {
  const T* data;
  const int64_t *offsets, *places;
  T at(int i) const { return data[offsets[i] + *places]; }
  void advance() { ++places; }
};

/// packed[(j, t) * kTileRows + i] for the rows of one panel.
template <class T>
void pack_weights(const ConvWeights<T>& weights, int64_t panel, T* packed) {
  const int64_t first = panel * kTileRows;
  const int64_t rows = std::min<int64_t>(kTileRows, weights.outputs - first);
  for (int64_t j = 0; j < weights.majors; ++j)
    for (int64_t t = 0; t < weights.tap_count; ++t, packed += kTileRows) {
      const T* from = weights.data + first * weights.row + j * weights.major + weights.taps[t];
      for (int64_t i = 0; i < rows; ++i) packed[i] = from[i * weights.row];
    }
}

template <class T>
void forward(const ConvBlock<T>& block) {
  for (int64_t p = 0; p < block.depth; p += kDepth) {
    const int64_t depth = std::min(kDepth, block.depth - p);
    for (int64_t q = 0; q < block.positions; q += kTileColumns<T>)
      for (int64_t i = 0; i < block.outputs; i += kTileRows)
        run_tile(std::min<int64_t>(kTileRows, block.outputs - i),
                 std::min(kTileColumns<T>, block.positions - q), depth,
                 PackedRows<T>{block.weights + i * block.depth + p * kTileRows},
                 ScatteredLines<T>{block.source + q, block.offsets + p},
                 Epilogue<T>{block.sums + i * block.step + q, block.step, T(1), T(p ? 1 : 0), nullptr});
  }
}

template <class T>
void weight(const ConvWeightBlock<T>& block) {
  constexpr int64_t width = kTileColumns<T>;
  const int64_t padded = (block.outputs + width - 1) / width * width;
  T* packed = scratch<T>(3, static_cast<size_t>(padded * kPositions));
  for (int64_t q = 0; q < block.positions; q += kPositions) {
    const int64_t depth = std::min(kPositions, block.positions - q);
    pack_b(MatrixView<T>{block.grad + q, 1, block.grad_step}, depth, block.outputs, packed);
    for (int64_t k = 0; k < block.outputs; k += width)
      for (int64_t i = 0; i < block.taps; i += kTileRows)
        run_tile(std::min<int64_t>(kTileRows, block.taps - i), std::min(width, block.outputs - k),
                 depth, PlacedRows<T>{block.source, block.offsets + i, block.places + q},
                 SteppedLines<T>{packed + k * depth, width},
                 Epilogue<T>{block.sums + i * block.outputs + k, block.outputs, T(1), T(1), nullptr});
  }
}

}  // namespace

template <class T>
const ConvKernels<T>& conv_kernels() {
  static constexpr ConvKernels<T> kernels{&pack_weights<T>, &forward<T>, &weight<T>, kTileRows};
  return kernels;
}
template const ConvKernels<float>& conv_kernels();
template const ConvKernels<double>& conv_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
