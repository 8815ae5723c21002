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
constexpr int64_t kLineFloats = 16;  // of a line of a cache
constexpr int64_t kDepth = kWinogradDepth;

int64_t padded(int64_t count) { return (count + kLane - 1) / kLane * kLane; }

/// From one of sixteen matrices to the next. Equal places in all of them are written and read
/// together: a vector more keeps them from meeting in the same set of a cache.
int64_t matrix_step(int64_t elements) { return elements + kLane; }
int64_t filter_step(const WinogradShape& shape) { return matrix_step(shape.channels * kWidth); }
int64_t sums_step(const WinogradShape& shape) {
  return matrix_step(shape.channels * padded(shape.outputs));
}

/// Channels of transformed blocks, `width` of them at a time: sixteen matrices [positions, width],
/// `step` apart.
struct Matrices {
  float* data;
  int64_t width, step;
  /// Those of channels [i * width, ...).
  float* part(int64_t i) const { return data + 16 * i * step; }
  Matrices from(int64_t position) const { return {data + position * width, width, step}; }
};
Matrices matrices(float* data, int64_t positions, int64_t channels, int64_t most) {
  const int64_t width = std::min(padded(channels), most);
  return {data, width, matrix_step(positions * width)};
}
int64_t matrices_size(int64_t positions, int64_t channels, int64_t most) {
  const auto [data, width, step] = matrices(nullptr, positions, channels, most);
  return (channels + width - 1) / width * 16 * step;
}

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
    const int64_t step = v.step;
    for (int64_t c = 0; c < lines.width; c += kLane) {
      float* const to = v.part(c / v.width) + block * v.width + c % v.width;
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
        float* const line = to + y * 4 * step;
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
    for (int64_t t = 0; t < 4; ++t)
      to[t] = lines.at(top + t / 2 * shape.dilation[0], left + t % 2 * shape.dilation[1]);
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
  Lane half[4][3];
#pragma GCC unroll 3
  for (int s = 0; s < 3; ++s) {
    const Lane a = load(taps + order[s] * width), b = load(taps + order[3 + s] * width);
    const Lane d = load(taps + order[6 + s] * width);
    half[0][s] = a;
    half[1][s] = (a + b + d) * splat(0.5f);
    half[2][s] = (a - b + d) * splat(0.5f);
    half[3][s] = d;
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r, to += 4 * step) {
    const Lane a = half[r][0], b = half[r][1], d = half[r][2];
    store(to, a);
    store(to + step, (a + b + d) * splat(0.5f));
    store(to + 2 * step, (a - b + d) * splat(0.5f));
    store(to + 3 * step, d);
  }
}

/// packed[xi * filter_step + c * width + i] of a panel of `width` outputs.
void pack(const WinogradShape& shape, const ConvWeights<float>& weights, int64_t panel,
          float* packed) {
  const int64_t first = panel * kWidth, rows = std::min(kWidth, shape.outputs - first);
  const int64_t step = filter_step(shape);
  const float* const data = weights.data + first * weights.row;
  if (weights.major != 9) {
    alignas(64) float taps[9 * kWidth] = {};
    for (int64_t c = 0; c < shape.channels; ++c) {
      pack_lines(data + c * weights.major, weights.row, int64_t(1), rows, int64_t(9), taps, kWidth);
      for (int64_t i = 0; i < kWidth; i += kLane)
        transform_filters(weights.taps, taps + i, kWidth, step, packed + c * kWidth + i);
    }
    return;
  }
  // Filters of a few channels of an output follow each other: lines are read whole.
  alignas(64) float taps[static_cast<size_t>(9 * kLane * kLane)];
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
    read_lines(lines, source + n * shape.source_step, shape.channels,
               shape.source[0] * shape.source[1]);
    transform_source(shape, part, lines, v.from(n * blocks));
  }
}

void transform_grads(const WinogradShape& shape, const WinogradPart& part, const float* grad,
                     const Matrices& m) {
  const Rows rows = result_rows(shape, part);
  const Lines lines = make_lines(3, shape.outputs, rows.first, rows.last, shape.result[1]);
  const int64_t blocks = part.strips * shape.strip_blocks();
  for (int64_t n = 0; n < part.images; ++n) {
    read_lines(lines, grad + n * shape.result_step, shape.outputs,
               shape.result[0] * shape.result[1]);
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
    write_lines(lines, bias, outputs, shape.result[0] * shape.result[1],
                result + n * shape.result_step);
  }
  return true;
}

/// m (+)= v times a panel of filters, `depth` channels of them; all of one of sixteen matrices.
struct PanelProduct {
  int64_t positions, columns, depth;
  const float* v;
  int64_t v_width;
  const float* filters;
  float* m;
  int64_t width;
};
void multiply_panel(const PanelProduct& call, bool adds) {
  for (int64_t i = 0; i < call.positions; i += kTileRows)
    run_tile(std::min<int64_t>(kTileRows, call.positions - i), call.columns, call.depth,
             StridedRows<float>{call.v + i * call.v_width, call.v_width, 1},
             SteppedLines<float>{call.filters, kWidth},
             Epilogue<float>{call.m + i * call.width, call.width, 1.f, adds ? 1.f : 0.f, nullptr});
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
                    result + first * shape.result[0] * shape.result[1]);
}

/// G^T u G for the G of `pack`; `u`: a vector of each of the sixteen matrices.
void finish_taps(const Lane (&u)[16], float* taps) {
  Lane rows[3][4];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    const Lane sum = (u[4 + x] + u[8 + x]) * splat(0.5f);
    rows[0][x] = u[x] + sum;
    rows[1][x] = (u[4 + x] - u[8 + x]) * splat(0.5f);
    rows[2][x] = sum + u[12 + x];
  }
#pragma GCC unroll 3
  for (int y = 0; y < 3; ++y) {
    const Lane sum = (rows[y][1] + rows[y][2]) * splat(0.5f);
    store(taps + 3 * y * kLane, rows[y][0] + sum);
    store(taps + (3 * y + 1) * kLane, (rows[y][1] - rows[y][2]) * splat(0.5f));
    store(taps + (3 * y + 2) * kLane, sum + rows[y][3]);
  }
}

/// Sixteen matrices [channels, width], `step` apart, in parts that are added up.
struct TransformedSums {
  const float* data;
  int64_t width, step, parts, part_step;
};

/// result[k * row + 9 * c + tap]: a vector of outputs of as many channels at a time, whose taps are
/// turned.
void finish_block(const TransformedSums& sums, int64_t count, int64_t outputs, float* result,
                  int64_t row) {
  alignas(64) float taps[static_cast<size_t>(9 * kLane * kLane)];
  for (int64_t c = 0; c < count; c += kLane)
    for (int64_t k = 0; k < outputs; k += kLane) {
      const int64_t channels = std::min(kLane, count - c), lines = 9 * channels;
      for (int64_t i = 0; i < channels; ++i) {
        Lane u[16];
        const float* from = sums.data + (c + i) * sums.width + k;
        for (int64_t xi = 0; xi < 16; ++xi, from += sums.step) {
          u[xi] = load(from);
          for (int64_t part = 1; part < sums.parts; ++part)
            u[xi] += load(from + part * sums.part_step);
        }
        finish_taps(u, taps + i * 9 * kLane);
      }
      for (int64_t t = 0; t < lines; t += kLane) {
        Lane square[kLane];
        for (int64_t q = 0; q < kLane; ++q) square[q] = load(taps + (t + q) * kLane);
        transpose_square<float>(square);
        const Mask<float> mask(std::min(kLane, lines - t));
        for (int64_t q = 0; q < std::min(kLane, outputs - k); ++q)
          mask.store(result + (k + q) * row + 9 * c + t, square[q]);
      }
    }
}

void finish(const WinogradShape& shape, int64_t parts, int64_t part_step, const float* sums,
            int64_t first, int64_t last, float* result) {
  const int64_t width = padded(shape.outputs);
  finish_block({sums + first * width, width, sums_step(shape), parts, part_step}, last - first,
               shape.outputs, result + 9 * first, 9 * shape.channels);
}

void weight_block(const WinogradShape& shape, int64_t batch, int64_t panel, int64_t block,
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
  finish_block({u, width, step, 1, 0}, channels, outputs, result + k * row + 9 * c, row);
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
