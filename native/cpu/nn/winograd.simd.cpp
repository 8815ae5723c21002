#include "cpu/nn/winograd.h"

#include <algorithm>

#include "cpu/linalg/tile.h"

// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). With 2x2 blocks the
// transforms only add and halve, so that rounding errors stay those of a direct convolution.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kStep = kWinogradPositions;

/// u = G g G^T with G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1], for the rows of a panel at once.
void pack(const ConvWeights<float>& weights, int64_t panel, int64_t panels, float* packed) {
  const int64_t first = panel * kTileRows;
  const int64_t rows = std::min<int64_t>(kTileRows, weights.outputs - first);
  const int64_t channels = weights.majors;
  for (int64_t c = 0; c < channels; ++c) {
    float g[9][kTileRows] = {};
    for (int64_t i = 0; i < rows; ++i) {
      const float* from = weights.data + (first + i) * weights.row + c * weights.major;
      for (int t = 0; t < 9; ++t) g[t][i] = from[weights.taps[t]];
    }
    float half[4][3][kTileRows];
    for (int s = 0; s < 3; ++s)
      for (int i = 0; i < kTileRows; ++i) {
        const float top = g[s][i], middle = g[3 + s][i], bottom = g[6 + s][i];
        half[0][s][i] = top;
        half[1][s][i] = (top + middle + bottom) * 0.5f;
        half[2][s][i] = (top - middle + bottom) * 0.5f;
        half[3][s][i] = bottom;
      }
    for (int r = 0; r < 4; ++r) {
      float* to = packed + ((r * 4 * panels + panel) * channels + c) * kTileRows;
      const int64_t xi = panels * channels * kTileRows;
      for (int i = 0; i < kTileRows; ++i) {
        const float left = half[r][0][i], middle = half[r][1][i], right = half[r][2][i];
        to[i] = left;
        to[xi + i] = (left + middle + right) * 0.5f;
        to[2 * xi + i] = (left - middle + right) * 0.5f;
        to[3 * xi + i] = right;
      }
    }
  }
}

/// v = B^T d B with B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1]; v[xi * step + q].
void transform_source(const float* source, int64_t plane, int64_t pitch, int64_t count,
                      int64_t step, float* v) {
  constexpr int lanes = kLanes<float>;
  for (int64_t q = 0; q < count; q += lanes) {
    const bool whole = q + lanes <= count;
    const Mask<float> mask(whole ? lanes : count - q);
    Vector<float> rows[4][4];
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y)
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        const float* from = source + (y % 2 * 2 + x % 2) * plane + y / 2 * pitch + x / 2 + q;
        rows[y][x] = whole ? load(from) : mask.load(from);
      }
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const Vector<float> a = rows[0][x], b = rows[1][x], c = rows[2][x], d = rows[3][x];
      rows[0][x] = a - c;
      rows[1][x] = b + c;
      rows[2][x] = c - b;
      rows[3][x] = b - d;
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      float* to = v + y * 4 * step + q;
      store(to, rows[y][0] - rows[y][2]);
      store(to + step, rows[y][1] + rows[y][2]);
      store(to + 2 * step, rows[y][2] - rows[y][1]);
      store(to + 3 * step, rows[y][1] - rows[y][3]);
    }
  }
}

/// A^T m A with A^T = [1 1 1 0; 0 1 -1 -1].
void transform_result(const float* m, int64_t step, int64_t count, float* blocks) {
  for (int64_t q = 0; q < count; q += kLanes<float>) {
    Vector<float> top[4], bottom[4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const Vector<float> a = load(m + x * step + q), b = load(m + (4 + x) * step + q);
      const Vector<float> c = load(m + (8 + x) * step + q), d = load(m + (12 + x) * step + q);
      top[x] = a + b + c;
      bottom[x] = b - c - d;
    }
    store(blocks + q, top[0] + top[1] + top[2]);
    store(blocks + kStep + q, top[1] - top[2] - top[3]);
    store(blocks + 2 * kStep + q, bottom[0] + bottom[1] + bottom[2]);
    store(blocks + 3 * kStep + q, bottom[1] - bottom[2] - bottom[3]);
  }
}

void run(const WinogradBlock& block) {
  const int64_t channels = block.channels, outputs = block.outputs;
  float* v = block.work;                          // [16][channels][kStep]
  float* m = block.work + 16 * channels * kStep;  // [16][outputs][kStep]
  for (int64_t c = 0; c < channels; ++c)
    transform_source(block.source + c * 4 * block.plane + block.first, block.plane, block.pitch,
                     block.count, channels * kStep, v + c * kStep);
  const int64_t panels = (outputs + kTileRows - 1) / kTileRows;
  for (int64_t xi = 0; xi < 16; ++xi)
    for (int64_t q = 0; q < block.count; q += kTileColumns<float>)
      for (int64_t i = 0; i < outputs; i += kTileRows)
        run_tile(std::min<int64_t>(kTileRows, outputs - i),
                 std::min(kTileColumns<float>, block.count - q), channels,
                 PackedRows<float>{block.weights + (xi * panels * kTileRows + i) * channels},
                 SteppedLines<float>{v + xi * channels * kStep + q, kStep},
                 Epilogue<float>{m + (xi * outputs + i) * kStep + q, kStep, 1.f, 0.f, nullptr});
  for (int64_t k = 0; k < outputs; ++k)
    transform_result(m + k * kStep, outputs * kStep, block.count, block.blocks + k * 4 * kStep);
}

void interleave(const float* left, const float* right, float bias, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[2 * i] = left[i] + bias;
    to[2 * i + 1] = right[i] + bias;
  }
}

}  // namespace

const WinogradKernels& winograd_kernels() {
  static constexpr WinogradKernels kernels{&pack, &run, &interleave, kTileRows};
  return kernels;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
