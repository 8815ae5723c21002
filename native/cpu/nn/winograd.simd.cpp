#include "cpu/nn/winograd.h"

#include <algorithm>

#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"
#include "cpu/linalg/tile.h"

// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). With 2x2 blocks the
// transforms only add and halve, so that rounding errors stay those of a direct convolution.
// B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1], A^T = [1 1 1 0; 0 1 -1 -1],
// G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1].

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using Lane = Vector<float>;
constexpr int64_t kLane = kLanes<float>;
constexpr int64_t kWidth = kTileColumns<float>;
constexpr int64_t kDepth = 256;  // of a pass: its panel of filters stays in L1

int64_t padded(int64_t count) { return (count + kLane - 1) / kLane * kLane; }

/// Rows of a plane as lines, with a line of zeros in front that stands for everything outside.
struct Lines {
  float* data;
  int64_t width;        // of a line
  int64_t first, last;  // rows
  int64_t columns;
  float* at(int64_t y, int64_t x) const {
    return y >= first && y < last && x >= 0 && x < columns
               ? data + (1 + (y - first) * columns + x) * width
               : data;
  }
};

Lines make_lines(int slot, int64_t channels, int64_t first, int64_t last, int64_t columns) {
  const int64_t width = padded(channels);
  const Lines lines{
      scratch<float>(slot, static_cast<size_t>((1 + (last - first) * columns) * width)), width,
      first, last, columns};
  std::fill_n(lines.data, width, 0.f);
  return lines;
}

void read_lines(const Lines& lines, const float* planes, int64_t channels, int64_t plane) {
  pack_lines(planes + lines.first * lines.columns, plane, int64_t(1), channels,
             (lines.last - lines.first) * lines.columns, lines.data + lines.width, lines.width);
}

/// The way back, plus a number for every channel.
void write_lines(const Lines& lines, const float* bias, int64_t channels, int64_t plane,
                 float* planes) {
  const float* from = lines.data + lines.width;
  const int64_t pixels = (lines.last - lines.first) * lines.columns;
  float* to = planes + lines.first * lines.columns;
  for (int64_t i = 0; i < pixels; i += kLane, to += kLane) {
    const int64_t count = std::min(kLane, pixels - i);
    const Mask<float> mask(count);
    for (int64_t c = 0; c < channels; c += kLane) {
      Lane square[kLane];
      for (int64_t r = 0; r < kLane; ++r)
        square[r] = r < count ? load(from + (i + r) * lines.width + c) : Lane{};
      transpose_square<float>(square);
      const int64_t rows = std::min(kLane, channels - c);
      for (int64_t r = 0; r < rows; ++r) {
        const Lane value = bias ? square[r] + splat(bias[c + r]) : square[r];
        if (count == kLane)
          store(to + (c + r) * plane, value);
        else
          mask.store(to + (c + r) * plane, value);
      }
    }
  }
}

/// Calls body(block, y, x) for the blocks of a part of one image; (y, x) is their corner.
template <class Body>
void for_blocks(const WinogradShape& shape, const WinogradPart& part, const Body& body) {
  int64_t block = 0;
  for (int64_t i = part.first_strip; i < part.first_strip + part.strips; ++i)
    for (int64_t j = 0; j < shape.strip_blocks(); ++j) body(block++, 2 * i, 2 * j);
}

/// B^T d B of each block, at v[xi * step + block * width].
void transform_source(const WinogradShape& shape, const WinogradPart& part, const Lines& lines,
                      int64_t step, float* v) {
  for_blocks(shape, part, [&](int64_t block, int64_t top, int64_t left) {
    const float* from[16];
    for (int64_t t = 0; t < 16; ++t)
      from[t] = lines.at(top - shape.border[0] + t / 4, left - shape.border[1] + t % 4);
    float* to = v + block * lines.width;
    for (int64_t c = 0; c < lines.width; c += kLane) {
      Lane rows[4][4];
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        const Lane a = load(from[x] + c), b = load(from[4 + x] + c);
        const Lane d = load(from[8 + x] + c), e = load(from[12 + x] + c);
        rows[0][x] = a - d;
        rows[1][x] = b + d;
        rows[2][x] = d - b;
        rows[3][x] = b - e;
      }
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y) {
        float* line = to + y * 4 * step + c;
        store(line, rows[y][0] - rows[y][2]);
        store(line + step, rows[y][1] + rows[y][2]);
        store(line + 2 * step, rows[y][2] - rows[y][1]);
        store(line + 3 * step, rows[y][1] - rows[y][3]);
      }
    }
  });
}

/// A^T m A of each block; elements of blocks that reach outside go to the line of zeros' place.
/// False if some are not finite.
bool transform_result(const WinogradShape& shape, const WinogradPart& part, const Lines& lines,
                      int64_t step, const float* m) {
  Lane seen{};  // 0 times each: NaN from the first one on that is not finite
  for_blocks(shape, part, [&](int64_t block, int64_t top, int64_t left) {
    float* to[4];
    for (int64_t t = 0; t < 4; ++t) to[t] = lines.at(top + t / 2, left + t % 2);
    const float* from = m + block * lines.width;
    for (int64_t k = 0; k < lines.width; k += kLane, from += kLane) {
      Lane upper[4], lower[4];
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        const Lane a = load(from + x * step), b = load(from + (4 + x) * step);
        const Lane c = load(from + (8 + x) * step), d = load(from + (12 + x) * step);
        upper[x] = a + b + c;
        lower[x] = b - c - d;
      }
      const Lane results[4] = {upper[0] + upper[1] + upper[2], upper[1] - upper[2] - upper[3],
                               lower[0] + lower[1] + lower[2], lower[1] - lower[2] - lower[3]};
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) store(to[t] + k, results[t]);
      seen += (results[0] + results[1] + (results[2] + results[3])) * splat(0.f);
    }
  });
  bool finite = true;
  for (int64_t i = 0; i < kLane; ++i) finite &= seen[i] == 0;
  return finite;
}

/// The adjoint of transform_result: A y A^T.
void transform_grad(const WinogradShape& shape, const WinogradPart& part, const Lines& lines,
                    int64_t step, float* m) {
  for_blocks(shape, part, [&](int64_t block, int64_t top, int64_t left) {
    const float* from[4];
    for (int64_t t = 0; t < 4; ++t) from[t] = lines.at(top + t / 2, left + t % 2);
    float* to = m + block * lines.width;
    for (int64_t k = 0; k < lines.width; k += kLane, to += kLane) {
      const Lane a = load(from[0] + k), b = load(from[1] + k);
      const Lane c = load(from[2] + k), d = load(from[3] + k);
      const Lane left_column[4] = {a, a + c, a - c, -c}, right_column[4] = {b, b + d, b - d, -d};
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y) {
        float* line = to + y * 4 * step;
        store(line, left_column[y]);
        store(line + step, left_column[y] + right_column[y]);
        store(line + 2 * step, left_column[y] - right_column[y]);
        store(line + 3 * step, -right_column[y]);
      }
    }
  });
}

/// u = G g G^T: packed[(xi * channels + c) * width + i] of a panel of `width` outputs.
void pack(const WinogradShape& shape, const ConvWeights<float>& weights, int64_t panel,
          float* packed) {
  const int64_t first = panel * kWidth, rows = std::min(kWidth, shape.outputs - first);
  const int64_t step = shape.channels * kWidth;
  alignas(64) float taps[9 * kWidth] = {};
  for (int64_t c = 0; c < shape.channels; ++c) {
    pack_lines(weights.data + first * weights.row + c * weights.major, weights.row, int64_t(1),
               rows, int64_t(9), taps, kWidth);
    for (int64_t i = 0; i < kWidth; i += kLane) {
      Lane half[4][3];
#pragma GCC unroll 3
      for (int s = 0; s < 3; ++s) {
        const Lane a = load(taps + weights.taps[s] * kWidth + i);
        const Lane b = load(taps + weights.taps[3 + s] * kWidth + i);
        const Lane d = load(taps + weights.taps[6 + s] * kWidth + i);
        half[0][s] = a;
        half[1][s] = (a + b + d) * splat(0.5f);
        half[2][s] = (a - b + d) * splat(0.5f);
        half[3][s] = d;
      }
      float* to = packed + c * kWidth + i;
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r, to += 4 * step) {
        const Lane a = half[r][0], b = half[r][1], d = half[r][2];
        store(to, a);
        store(to + step, (a + b + d) * splat(0.5f));
        store(to + 2 * step, (a - b + d) * splat(0.5f));
        store(to + 3 * step, d);
      }
    }
  }
}

struct Rows {
  int64_t first, last;
};
/// Rows of the result, and of the source that they need.
Rows result_rows(const WinogradShape& shape, const WinogradPart& part) {
  return {2 * part.first_strip, std::min(2 * (part.first_strip + part.strips), shape.result[0])};
}
Rows source_rows(const WinogradShape& shape, const WinogradPart& part) {
  const int64_t first = 2 * part.first_strip - shape.border[0];
  const auto inside = [&](int64_t y) { return std::clamp<int64_t>(y, 0, shape.source[0]); };
  return {inside(first), inside(first + 2 * part.strips + 2)};
}

/// The transformed source of a part: [16, positions, lines].
float* make_transformed(const WinogradShape& shape, const WinogradPart& part, const float* source) {
  const Rows rows = source_rows(shape, part);
  const Lines lines = make_lines(0, shape.channels, rows.first, rows.last, shape.source[1]);
  const int64_t blocks = part.strips * shape.strip_blocks();
  const int64_t step = part.images * blocks * lines.width;
  float* v = scratch<float>(1, static_cast<size_t>(16 * step));
  for (int64_t n = 0; n < part.images; ++n) {
    read_lines(lines, source + n * shape.source_step, shape.channels,
               shape.source[0] * shape.source[1]);
    transform_source(shape, part, lines, step, v + n * blocks * lines.width);
  }
  return v;
}

bool forward(const WinogradShape& shape, const WinogradPart& part, const float* packed,
             const float* source, const float* bias, float* result) {
  const float* v = make_transformed(shape, part, source);
  const int64_t blocks = part.strips * shape.strip_blocks(), positions = part.images * blocks;
  const int64_t depth = shape.channels, v_width = padded(depth), width = padded(shape.outputs);
  const int64_t step = positions * width;
  float* m = scratch<float>(2, static_cast<size_t>(16 * step));
  for (int64_t xi = 0; xi < 16; ++xi)
    for (int64_t j = 0; j < width; j += kWidth)
      for (int64_t p = 0; p < depth; p += kDepth)
        for (int64_t i = 0; i < positions; i += kTileRows)
          run_tile(
              std::min<int64_t>(kTileRows, positions - i), std::min(kWidth, width - j),
              std::min(kDepth, depth - p),
              StridedRows<float>{v + (xi * positions + i) * v_width + p, v_width, 1},
              SteppedLines<float>{packed + ((j / kWidth * 16 + xi) * depth + p) * kWidth, kWidth},
              Epilogue<float>{m + xi * step + i * width + j, width, 1.f, p ? 1.f : 0.f, nullptr});
  const Rows rows = result_rows(shape, part);
  const Lines lines = make_lines(3, shape.outputs, rows.first, rows.last, shape.result[1]);
  for (int64_t n = 0; n < part.images; ++n) {
    if (!transform_result(shape, part, lines, step, m + n * blocks * width)) return false;
    write_lines(lines, bias, shape.outputs, shape.result[0] * shape.result[1],
                result + n * shape.result_step);
  }
  return true;
}

void weight(const WinogradShape& shape, const WinogradPart& part, const float* source,
            const float* grad, float* sums) {
  const float* v = make_transformed(shape, part, source);
  const int64_t blocks = part.strips * shape.strip_blocks(), positions = part.images * blocks;
  const int64_t channels = shape.channels, v_width = padded(channels);
  const int64_t width = padded(shape.outputs), step = positions * width;
  float* m = scratch<float>(2, static_cast<size_t>(16 * step));
  const Rows rows = result_rows(shape, part);
  const Lines lines = make_lines(3, shape.outputs, rows.first, rows.last, shape.result[1]);
  for (int64_t n = 0; n < part.images; ++n) {
    read_lines(lines, grad + n * shape.result_step, shape.outputs,
               shape.result[0] * shape.result[1]);
    transform_grad(shape, part, lines, step, m + n * blocks * width);
  }
  for (int64_t xi = 0; xi < 16; ++xi)
    for (int64_t j = 0; j < width; j += kWidth)
      for (int64_t i = 0; i < channels; i += kTileRows)
        run_tile(std::min<int64_t>(kTileRows, channels - i), std::min(kWidth, width - j), positions,
                 StridedRows<float>{v + xi * positions * v_width + i, 1, v_width},
                 SteppedLines<float>{m + xi * step + j, width},
                 Epilogue<float>{sums + (xi * channels + i) * width + j, width, 1.f, 1.f, nullptr});
}

/// G^T u G for the G of `pack`; lines of filters become rows of taps at the end.
void finish(const WinogradShape& shape, int64_t parts, int64_t part_step, const float* sums,
            float* result) {
  const int64_t width = padded(shape.outputs), step = shape.channels * width;
  float* taps = scratch<float>(0, static_cast<size_t>(9 * step));
  for (int64_t i = 0; i < step; i += kLane) {
    Lane u[16];
    for (int64_t xi = 0; xi < 16; ++xi) {
      u[xi] = load(sums + xi * step + i);
      for (int64_t part = 1; part < parts; ++part)
        u[xi] += load(sums + part * part_step + xi * step + i);
    }
    Lane rows[3][4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const Lane sum = (u[4 + x] + u[8 + x]) * splat(0.5f);
      rows[0][x] = u[x] + sum;
      rows[1][x] = (u[4 + x] - u[8 + x]) * splat(0.5f);
      rows[2][x] = sum + u[12 + x];
    }
    float* to = taps + i / width * 9 * width + i % width;
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) {
      const Lane sum = (rows[y][1] + rows[y][2]) * splat(0.5f);
      store(to + (3 * y) * width, rows[y][0] + sum);
      store(to + (3 * y + 1) * width, (rows[y][1] - rows[y][2]) * splat(0.5f));
      store(to + (3 * y + 2) * width, sum + rows[y][3]);
    }
  }
  const int64_t row = 9 * shape.channels;
  pack_lines(taps, width, int64_t(1), row, shape.outputs, result, row);
}

}  // namespace

const WinogradKernels& winograd_kernels() {
  static constexpr WinogradKernels kernels{&pack, &forward, &weight, &finish, kWidth, kLane};
  return kernels;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
