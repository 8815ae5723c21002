#include "cpu/nn/winograd.h"

#include <algorithm>

#include "cpu/nn/winograd_parts.h"

// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). With 2x2 blocks the
// transforms only add and halve, so that rounding errors stay those of a direct convolution.
// B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1], A^T = [1 1 1 0; 0 1 -1 -1],
// G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1].

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using namespace winograd;

int64_t filter_step(const WinogradShape& shape) { return matrix_step(shape.channels * kWidth); }
int64_t sums_step(const WinogradShape& shape) {
  return matrix_step(shape.channels * padded(shape.outputs));
}

/// Calls body(block, y, x) for the blocks of a part of one image; (y, x) is their corner.
template <class Body>
void for_blocks(const WinogradShape& shape, const WinogradPart& part, const Body& body) {
  int64_t block = 0;
  for (int64_t i = part.first_strip; i < part.first_strip + part.strips; ++i)
    for (int64_t j = 0; j < shape.strip_blocks(); ++j)
      body(block++, shape.corner(0, i), shape.corner(1, j));
}

/// B^T d B of each block.
void transform_source(const WinogradShape& shape, const WinogradPart& part, const Lines& lines,
                      const Matrices& v) {
  for_blocks(shape, part, [&](int64_t block, int64_t top, int64_t left) {
    const float* from[16];
    for (int64_t t = 0; t < 16; ++t)
      from[t] = lines.at(top - shape.border[0] + t / 4 * shape.dilation[0],
                         left - shape.border[1] + t % 4 * shape.dilation[1]);
    for (int64_t c = 0; c < lines.width; c += kLane)
      transform_pixels(from, c, v.part(c / v.width) + block * v.width + c % v.width, v.step);
  });
}

/// A^T m A of each block; elements of blocks that reach outside go to the line of zeros' place.
/// False if some are not finite.
bool transform_result(const WinogradShape& shape, const WinogradPart& part, const Lines& lines,
                      int64_t step, const float* m) {
  Lane seen{};
  for_blocks(shape, part, [&](int64_t block, int64_t top, int64_t left) {
    float* to[4];
    for (int64_t t = 0; t < 4; ++t)
      to[t] = lines.at(top + t / 2 * shape.dilation[0], left + t % 2 * shape.dilation[1]);
    const float* from = m + block * lines.width;
    for (int64_t k = 0; k < lines.width; k += kLane, from += kLane) {
      Lane results[2][2];
      transform_products(from, step, results);
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) store(to[t] + k, results[t / 2][t % 2]);
      seen += (results[0][0] + results[0][1] + (results[1][0] + results[1][1])) * splat(0.f);
    }
  });
  return is_zero(seen);
}

/// The adjoint of transform_result: A y A^T.
void transform_grad(const WinogradShape& shape, const WinogradPart& part, const Lines& lines,
                    const Matrices& m) {
  for_blocks(shape, part, [&](int64_t block, int64_t top, int64_t left) {
    const float* from[4];
    for (int64_t t = 0; t < 4; ++t)
      from[t] = lines.at(top + t / 2 * shape.dilation[0], left + t % 2 * shape.dilation[1]);
    const int64_t step = m.step;
    for (int64_t k = 0; k < lines.width; k += kLane) {
      float* const to = m.part(k / m.width) + block * m.width + k % m.width;
      const Lane a = load(from[0] + k), b = load(from[1] + k);
      const Lane c = load(from[2] + k), d = load(from[3] + k);
      const Lane left_column[4] = {a, a + c, a - c, -c}, right_column[4] = {b, b + d, b - d, -d};
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y) {
        float* const line = to + y * 4 * step;
        store(line, left_column[y]);
        store(line + step, left_column[y] + right_column[y]);
        store(line + 2 * step, left_column[y] - right_column[y]);
        store(line + 3 * step, -right_column[y]);
      }
    }
  });
}

/// u = G g G^T of a vector of outputs, whose taps are `width` apart.
void transform_filters(const int64_t* order, const float* taps, int64_t width, int64_t step,
                       float* to) {
  Lane g[3][3];
#pragma GCC unroll 9
  for (int t = 0; t < 9; ++t) g[t / 3][t % 3] = load(taps + order[t] * width);
  transform_taps(g, step, to);
}

/// Channels of turned filters lie far apart: so many are asked for before they are read.
constexpr int64_t kChannelsAhead = 6;
void fetch_channel(const ConvWeights<float>& weights, const float* data, int64_t c, int64_t rows) {
  const float* const from = data + c * weights.major;
  const int64_t last = (rows - 1) * weights.row + 8;
  for (int64_t q = 0; q < last; q += std::max(weights.row, kLineFloats))
    __builtin_prefetch(from + q);
  __builtin_prefetch(from + last);
}

/// Filters whose channels, or whose outputs, follow each other, so that their taps do not.
void pack_apart(const ConvWeights<float>& weights, int64_t channels, const float* data,
                int64_t rows, int64_t step, float* packed) {
  constexpr int64_t kInOrder[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  alignas(64) float taps[static_cast<size_t>(9 * kLane * kLane)] = {};
  for (int64_t i = 0; i < kWidth; i += kLane) {
    if (i >= rows) std::fill(std::begin(taps), std::end(taps), 0.f);
    for (int64_t c = 0; c < channels; c += kLane) {
      const int64_t some = std::min(kLane, channels - c);
      for (int64_t t = 0; t < 9 && i < rows; ++t)
        pack_lines(data + i * weights.row + weights.taps[t] + c * weights.major, weights.row,
                   weights.major, std::min(kLane, rows - i), some, taps + t * kLane, 9 * kLane);
      for (int64_t k = 0; k < some; ++k)
        transform_filters(kInOrder, taps + k * 9 * kLane, kLane, step,
                          packed + (c + k) * kWidth + i);
    }
  }
}

/// packed[xi * filter_step + c * width + i] of a panel of `width` outputs.
void pack(const WinogradShape& shape, const ConvWeights<float>& weights, int64_t panel,
          float* packed) {
  const int64_t first = panel * kWidth, rows = std::min(kWidth, shape.outputs - first);
  const int64_t step = filter_step(shape);
  const float* const data = weights.data + first * weights.row;
  alignas(64) float taps[static_cast<size_t>(9 * kLane * kLane)];
  if (weights.major == 1 || weights.row == 1)
    return pack_apart(weights, shape.channels, data, rows, step, packed);
  if (weights.major != 9) {
    alignas(64) float taps[9 * kWidth] = {};
    for (int64_t c = 0; c < shape.channels; ++c) {
      fetch_channel(weights, data, std::min(c + kChannelsAhead, shape.channels - 1), rows);
      pack_lines(data + c * weights.major, weights.row, int64_t(1), rows, int64_t(9), taps, kWidth);
      for (int64_t i = 0; i < kWidth; i += kLane)
        transform_filters(weights.taps, taps + i, kWidth, step, packed + c * kWidth + i);
    }
    return;
  }
  // Filters of a few channels of an output follow each other: lines are read whole.
  for (int64_t c = 0; c < shape.channels; c += kLane)
    for (int64_t i = 0; i < kWidth; i += kLane) {
      const int64_t channels = std::min(kLane, shape.channels - c);
      const float* const from = data + i * weights.row + 9 * c;
      if (i < rows)
        pack_lines(from, weights.row, int64_t(1), std::min(kLane, rows - i), 9 * channels, taps,
                   kLane);
      else
        std::fill_n(taps, 9 * channels * kLane, 0.f);
      for (int64_t r = 0; r < std::min(kLane, rows - i); ++r)
        for (int64_t q = 9 * kLane; q < 18 * kLane; q += kLineFloats)
          __builtin_prefetch(from + r * weights.row + q);
      for (int64_t k = 0; k < channels; ++k)
        transform_filters(weights.taps, taps + k * 9 * kLane, kLane, step,
                          packed + (c + k) * kWidth + i);
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
  return {inside(first), inside(first + 2 * part.strips + 2 * shape.dilation[0])};
}

void transform_images(const WinogradShape& shape, const WinogradPart& part, const float* source,
                      const Matrices& v) {
  const Rows rows = source_rows(shape, part);
  const Lines lines = make_lines(0, shape.channels, rows.first, rows.last, shape.source[1]);
  const int64_t blocks = part.strips * shape.strip_blocks();
  for (int64_t n = 0; n < part.images; ++n) {
    const float* const image = source + n * shape.source_step;
    if (shape.by_pixels)
      read_pixels(lines, image, shape.channels);
    else
      read_lines(lines, image, shape.channels, shape.source[0] * shape.source[1]);
    transform_source(shape, part, lines, v.from(n * blocks));
  }
}

void transform_grads(const WinogradShape& shape, const WinogradPart& part, const float* grad,
                     const Matrices& m) {
  const Rows rows = result_rows(shape, part);
  const Lines lines = make_lines(3, shape.outputs, rows.first, rows.last, shape.result[1]);
  const int64_t blocks = part.strips * shape.strip_blocks();
  for (int64_t n = 0; n < part.images; ++n) {
    const float* const image = grad + n * shape.result_step;
    if (shape.by_pixels)
      read_pixels(lines, image, shape.outputs);
    else
      read_lines(lines, image, shape.outputs, shape.result[0] * shape.result[1]);
    transform_grad(shape, part, lines, m.from(n * blocks));
  }
}

/// Transforms the products m of `outputs` channels back, into the planes of `result`.
bool write_part(const WinogradShape& shape, const WinogradPart& part, int64_t outputs,
                const float* m, int64_t step, const float* bias, float* result) {
  const Rows rows = result_rows(shape, part);
  const Lines lines = make_lines(3, outputs, rows.first, rows.last, shape.result[1]);
  const int64_t blocks = part.strips * shape.strip_blocks();
  for (int64_t n = 0; n < part.images; ++n) {
    if (!transform_result(shape, part, lines, step, m + n * blocks * lines.width)) return false;
    float* const image = result + n * shape.result_step;
    if (shape.by_pixels)
      write_pixels(lines, bias, outputs, shape.outputs, image);
    else
      write_lines(lines, bias, outputs, shape.result[0] * shape.result[1], image);
  }
  return true;
}

/// `count` channels of the gradient of one of sixteen matrices, from one of the source on.
struct WeightProduct {
  int64_t count, columns, positions;
  const float* v;
  int64_t v_width;
  const float* g;
  int64_t g_width;
  float* sums;
  int64_t width;
};
void multiply_weights(const WeightProduct& call, bool adds) {
  for (int64_t i = 0; i < call.count; i += kTileRows)
    run_tile(
        std::min<int64_t>(kTileRows, call.count - i), call.columns, call.positions,
        StridedRows<float>{call.v + i, 1, call.v_width}, SteppedLines<float>{call.g, call.g_width},
        Epilogue<float>{call.sums + i * call.width, call.width, 1.f, adds ? 1.f : 0.f, nullptr});
}

bool forward(const WinogradShape& shape, const WinogradPart& part, const float* packed,
             const float* source, const float* bias, float* result) {
  const int64_t positions = part.images * part.strips * shape.strip_blocks();
  const int64_t width = padded(shape.outputs), step = matrix_step(positions * width);
  const int64_t size = matrices_size(positions, shape.channels, kDepth);
  const Matrices v =
      matrices(scratch<float>(1, static_cast<size_t>(size)), positions, shape.channels, kDepth);
  float* const m = scratch<float>(2, static_cast<size_t>(16 * step));
  transform_images(shape, part, source, v);
  for (int64_t xi = 0; xi < 16; ++xi)
    for (int64_t j = 0; j < width; j += kWidth)
      for (int64_t p = 0; p < shape.channels; p += kDepth)
        multiply_panel({positions, std::min(kWidth, width - j),
                        std::min(kDepth, shape.channels - p), v.part(p / kDepth) + xi * v.step,
                        v.width, packed + (j / kWidth * 16 + xi) * filter_step(shape) + p * kWidth,
                        m + xi * step + j, width},
                       p > 0);
  return write_part(shape, part, shape.outputs, m, step, bias, result);
}

void weight(const WinogradShape& shape, const WinogradPart& part, const float* source,
            const float* grad, bool adds, float* sums) {
  const int64_t positions = part.images * part.strips * shape.strip_blocks();
  const int64_t channels = shape.channels, width = padded(shape.outputs);
  const auto in_scratch = [&](int slot, int64_t lines) {
    const int64_t size = matrices_size(positions, lines, padded(lines));
    return matrices(scratch<float>(slot, static_cast<size_t>(size)), positions, lines,
                    padded(lines));
  };
  const Matrices v = in_scratch(1, channels), g = in_scratch(2, shape.outputs);
  transform_images(shape, part, source, v);
  transform_grads(shape, part, grad, g);
  for (int64_t xi = 0; xi < 16; ++xi)
    for (int64_t j = 0; j < width; j += kWidth)
      multiply_weights(
          {channels, std::min(kWidth, width - j), positions, v.data + xi * v.step, v.width,
           g.data + xi * g.step + j, g.width, sums + xi * sums_step(shape) + j, width},
          adds);
}

WinogradPart whole_images(const WinogradShape& shape, int64_t count) {
  return {count, 0, shape.strips()};
}
int64_t positions_of(const WinogradShape& shape, int64_t batch) {
  return batch * shape.strips() * shape.strip_blocks();
}

void transform_image(const WinogradShape& shape, int64_t batch, int64_t i, const float* source,
                     int64_t most, float* v) {
  transform_images(
      shape, whole_images(shape, 1), source + i * shape.source_step,
      matrices(v, positions_of(shape, batch), shape.channels, most).from(positions_of(shape, i)));
}
void transform_image_grad(const WinogradShape& shape, int64_t batch, int64_t i, const float* grad,
                          float* g) {
  transform_grads(
      shape, whole_images(shape, 1), grad + i * shape.result_step,
      matrices(g, positions_of(shape, batch), shape.outputs, kWidth).from(positions_of(shape, i)));
}

bool forward_panel(const WinogradShape& shape, int64_t batch, const ConvWeights<float>& weights,
                   int64_t panel, const float* source, const float* bias, float* result) {
  const int64_t first = panel * kWidth, outputs = std::min(kWidth, shape.outputs - first);
  const int64_t positions = positions_of(shape, batch), width = padded(outputs);
  const int64_t step = matrix_step(positions * width);
  const Matrices v = matrices(const_cast<float*>(source), positions, shape.channels, kDepth);
  const int64_t most = std::min(kDepth, shape.channels);
  float* const u = scratch<float>(1, static_cast<size_t>(16 * matrix_step(most * kWidth)));
  float* const m = scratch<float>(2, static_cast<size_t>(16 * step));
  for (int64_t p = 0; p < shape.channels; p += kDepth) {
    // Filters of so many channels stay in L2 between their transform and the product.
    WinogradShape some = shape;
    some.channels = std::min(kDepth, shape.channels - p);
    ConvWeights<float> theirs = weights;
    theirs.data += p * weights.major;
    pack(some, theirs, panel, u);
    for (int64_t xi = 0; xi < 16; ++xi)
      multiply_panel({positions, width, some.channels, v.part(p / kDepth) + xi * v.step, v.width,
                      u + xi * filter_step(some), m + xi * step, width},
                     p > 0);
  }
  return write_part(shape, whole_images(shape, batch), outputs, m, step,
                    bias ? bias + first : nullptr,
                    result + first * (shape.by_pixels ? 1 : shape.result[0] * shape.result[1]));
}

/// G^T u G for the G of `pack`; `u`: a vector of each of the sixteen matrices. The sum of what it
/// found.
Lane finish_taps(const Lane (&u)[16], float* taps) {
  Lane rows[3][4];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    const Lane sum = (u[4 + x] + u[8 + x]) * splat(0.5f);
    rows[0][x] = u[x] + sum;
    rows[1][x] = (u[4 + x] - u[8 + x]) * splat(0.5f);
    rows[2][x] = sum + u[12 + x];
  }
  Lane all{};
#pragma GCC unroll 3
  for (int y = 0; y < 3; ++y) {
    const Lane sum = (rows[y][1] + rows[y][2]) * splat(0.5f);
    const Lane line[3] = {rows[y][0] + sum, (rows[y][1] - rows[y][2]) * splat(0.5f),
                          sum + rows[y][3]};
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      store(taps + (3 * y + x) * kLane, line[x]);
      all += line[x];
    }
  }
  return all;
}

/// Sixteen matrices [channels, width], `step` apart, in parts that are added up.
struct TransformedSums {
  const float* data;
  int64_t width, step, parts, part_step;
};

/// Turns the taps of a vector of outputs, taps[channel][tap]: result[output * row + 9 * channel +
/// tap], or, `by_pixels`, + row / 9 * tap + channel.
void write_taps(bool by_pixels, const float* taps, int64_t channels, int64_t outputs, float* result,
                int64_t row) {
  const int64_t lines = by_pixels ? channels : 9 * channels, step = by_pixels ? 9 * kLane : kLane;
  for (int64_t tap = 0; tap < (by_pixels ? 9 : 1); ++tap)
    for (int64_t t = 0; t < lines; t += kLane) {
      Lane square[kLane];
      for (int64_t q = 0; q < kLane; ++q)
        square[q] = t + q < lines ? load(taps + tap * kLane + (t + q) * step) : Lane{};
      transpose_square<float>(square);
      const Mask<float> mask(std::min(kLane, lines - t));
      for (int64_t q = 0; q < std::min(kLane, outputs); ++q)
        mask.store(result + q * row + tap * (row / 9) + t, square[q]);
    }
}

/// The filters' gradient: a vector of outputs of as many channels at a time. False if some numbers
/// are not finite.
bool finish_block(bool by_pixels, const TransformedSums& sums, int64_t count, int64_t outputs,
                  float* result, int64_t row) {
  alignas(64) float taps[static_cast<size_t>(9 * kLane * kLane)];
  Lane seen{};
  for (int64_t c = 0; c < count; c += kLane)
    for (int64_t k = 0; k < outputs; k += kLane) {
      const int64_t channels = std::min(kLane, count - c);
      for (int64_t i = 0; i < channels; ++i) {
        Lane u[16];
        const float* from = sums.data + (c + i) * sums.width + k;
        for (int64_t xi = 0; xi < 16; ++xi, from += sums.step) {
          u[xi] = load(from);
          for (int64_t part = 1; part < sums.parts; ++part)
            u[xi] += load(from + part * sums.part_step);
        }
        seen += finish_taps(u, taps + i * 9 * kLane) * splat(0.f);
      }
      write_taps(by_pixels, taps, channels, outputs - k, result + k * row + (by_pixels ? 1 : 9) * c,
                 row);
    }
  return is_zero(seen);
}

bool finish(const WinogradShape& shape, int64_t parts, int64_t part_step, const float* sums,
            int64_t first, int64_t last, float* result) {
  const int64_t width = padded(shape.outputs);
  return finish_block(
      shape.by_pixels, {sums + first * width, width, sums_step(shape), parts, part_step},
      last - first, shape.outputs, result + (shape.by_pixels ? 1 : 9) * first, 9 * shape.channels);
}

bool weight_block(const WinogradShape& shape, int64_t batch, int64_t panel, int64_t block,
                  const float* source, const float* grads, float* result) {
  const int64_t k = panel * kWidth, outputs = std::min(kWidth, shape.outputs - k);
  const int64_t c = block * kWinogradBlock, channels = std::min(kWinogradBlock, shape.channels - c);
  const int64_t positions = positions_of(shape, batch), width = padded(outputs);
  const Matrices v =
      matrices(const_cast<float*>(source), positions, shape.channels, kWinogradBlock);
  const Matrices g = matrices(const_cast<float*>(grads), positions, shape.outputs, kWidth);
  const int64_t step = matrix_step(channels * width), row = 9 * shape.channels;
  float* const u = scratch<float>(1, static_cast<size_t>(16 * step));
  for (int64_t xi = 0; xi < 16; ++xi)
    multiply_weights({channels, width, positions, v.part(block) + xi * v.step, v.width,
                      g.part(panel) + xi * g.step, g.width, u + xi * step, width},
                     false);
  return finish_block(shape.by_pixels, {u, width, step, 1, 0}, channels, outputs,
                      result + k * row + (shape.by_pixels ? 1 : 9) * c, row);
}

int64_t filter_size(const WinogradShape& shape) { return 16 * filter_step(shape); }
int64_t sums_size(const WinogradShape& shape) { return 16 * sums_step(shape); }
int64_t source_size(const WinogradShape& shape, int64_t batch, int64_t most) {
  return matrices_size(positions_of(shape, batch), shape.channels, most);
}
int64_t grad_size(const WinogradShape& shape, int64_t batch) {
  return matrices_size(positions_of(shape, batch), shape.outputs, kWidth);
}

}  // namespace

const WinogradKernels& winograd_kernels() {
  static constexpr WinogradKernels kernels{{&transform_image, &transform_image_grad, &source_size,
                                            &grad_size, &forward_panel, &weight_block},
                                           &pack,
                                           &forward,
                                           &weight,
                                           &finish,
                                           &filter_size,
                                           &sums_size,
                                           kWidth,
                                           kLane};
  return kernels;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
