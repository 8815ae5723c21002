#pragma once

#include <algorithm>

#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"
#include "cpu/linalg/tile.h"
#include "cpu/nn/winograd.h"

// What Winograd's filtering is made of, whatever the filters: lines of channels, sixteen matrices
// of transformed blocks, their products, and the transforms. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA::winograd {

using Lane = Vector<float>;
inline constexpr int64_t kLane = kLanes<float>;
inline constexpr int64_t kWidth = kTileColumns<float>;
inline constexpr int64_t kLineFloats = 16;  // of a line of a cache
inline constexpr int64_t kDepth = kWinogradDepth;

inline int64_t padded(int64_t count) { return (count + kLane - 1) / kLane * kLane; }

/// From one of sixteen matrices to the next. Equal places in all of them are written and read
/// together: a vector more keeps them from meeting in the same set of a cache.
inline int64_t matrix_step(int64_t elements) { return elements + kLane; }

/// Channels of transformed blocks, `width` of them at a time: sixteen matrices [positions, width],
/// `step` apart.
struct Matrices {
  float* data;
  int64_t width, step;
  /// Those of channels [i * width, ...).
  float* part(int64_t i) const { return data + 16 * i * step; }
  Matrices from(int64_t position) const { return {data + position * width, width, step}; }
};
inline Matrices matrices(float* data, int64_t positions, int64_t channels, int64_t most) {
  const int64_t width = std::min(padded(channels), most);
  return {data, width, matrix_step(positions * width)};
}
inline int64_t matrices_size(int64_t positions, int64_t channels, int64_t most) {
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

inline Lines make_lines(int slot, int64_t channels, int64_t first, int64_t last, int64_t columns) {
  const int64_t width = padded(channels);
  const Lines lines{
      scratch<float>(slot, static_cast<size_t>((1 + (last - first) * columns) * width)), width,
      first, last, columns};
  std::fill_n(lines.data, width, 0.f);
  return lines;
}

/// Of images whose channels lie next to each other.
inline void read_pixels(const Lines& lines, const float* pixels, int64_t channels) {
  const int64_t count = (lines.last - lines.first) * lines.columns;
  const float* from = pixels + lines.first * lines.columns * channels;
  float* to = lines.data + lines.width;
  for (int64_t i = 0; i < count; ++i, from += channels, to += lines.width) {
    std::copy_n(from, channels, to);
    std::fill_n(to + channels, lines.width - channels, 0.f);
  }
}

inline void read_lines(const Lines& lines, const float* planes, int64_t channels, int64_t plane) {
  pack_lines(planes + lines.first * lines.columns, plane, int64_t(1), channels,
             (lines.last - lines.first) * lines.columns, lines.data + lines.width, lines.width);
}

/// The way back, plus a number for every channel.
inline void write_lines(const Lines& lines, const float* bias, int64_t channels, int64_t plane,
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

/// The same of images whose pixels are `step` apart.
inline void write_pixels(const Lines& lines, const float* bias, int64_t channels, int64_t step,
                         float* pixels) {
  const int64_t count = (lines.last - lines.first) * lines.columns;
  const float* from = lines.data + lines.width;
  float* to = pixels + lines.first * lines.columns * step;
  for (int64_t i = 0; i < count; ++i, from += lines.width, to += step)
    for (int64_t c = 0; c < channels; c += kLane) {
      const Mask<float> mask(std::min(kLane, channels - c));
      const Lane value = load(from + c);
      mask.store(to + c, bias ? value + mask.load(bias + c) : value);
    }
}

/// B^T d B of the pixels of a block, a vector of their channels: from[4 * row + column] + c.
[[gnu::always_inline]] inline void transform_pixels(const float* const (&from)[16], int64_t c,
                                                    float* to, int64_t step) {
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

/// G g of three taps, or of two.
[[gnu::always_inline]] inline void to_points(const Lane (&g)[3], Lane (&u)[4]) {
  u[0] = g[0];
  u[1] = (g[0] + g[1] + g[2]) * splat(0.5f);
  u[2] = (g[0] - g[1] + g[2]) * splat(0.5f);
  u[3] = g[2];
}
[[gnu::always_inline]] inline void to_points(const Lane (&g)[2], Lane (&u)[4]) {
  u[0] = g[0];
  u[1] = (g[0] + g[1]) * splat(0.5f);
  u[2] = (g[0] - g[1]) * splat(0.5f);
  u[3] = g[1];
}

/// A^T m: two results of three taps, or three of two.
[[gnu::always_inline]] inline void from_points(const Lane (&m)[4], Lane (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}
[[gnu::always_inline]] inline void from_points(const Lane (&m)[4], Lane (&y)[3]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2];
  y[2] = m[1] + m[2] - m[3];
}

/// to[(4 * row + column) * step] = G g G^T of the taps g.
template <int taps>
[[gnu::always_inline]] inline void transform_taps(const Lane (&g)[taps][taps], int64_t step,
                                                  float* to) {
  Lane half[taps][4];
#pragma GCC unroll 3
  for (int s = 0; s < taps; ++s) {
    Lane column[taps];
#pragma GCC unroll 3
    for (int r = 0; r < taps; ++r) column[r] = g[r][s];
    to_points(column, half[s]);
  }
#pragma GCC unroll 4
  for (int y = 0; y < 4; ++y, to += 4 * step) {
    Lane line[taps], points[4];
#pragma GCC unroll 3
    for (int s = 0; s < taps; ++s) line[s] = half[s][y];
    to_points(line, points);
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) store(to + x * step, points[x]);
  }
}

/// results[row][column] = A^T m A of one vector of each of sixteen matrices.
template <int sums>
[[gnu::always_inline]] inline void transform_products(const float* m, int64_t step,
                                                      Lane (&results)[sums][sums]) {
  Lane half[4][sums];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    const Lane column[4] = {load(m + x * step), load(m + (4 + x) * step), load(m + (8 + x) * step),
                            load(m + (12 + x) * step)};
    from_points(column, half[x]);
  }
#pragma GCC unroll 3
  for (int y = 0; y < sums; ++y) {
    const Lane line[4] = {half[0][y], half[1][y], half[2][y], half[3][y]};
    from_points(line, results[y]);
  }
}

/// 0 times what was seen: NaN from the first number on that is not finite.
inline bool is_zero(Lane seen) {
  bool zero = true;
  for (int64_t i = 0; i < kLane; ++i) zero &= seen[i] == 0;
  return zero;
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
inline void multiply_panel(const PanelProduct& call, bool adds) {
  for (int64_t i = 0; i < call.positions; i += kTileRows)
    run_tile(std::min<int64_t>(kTileRows, call.positions - i), call.columns, call.depth,
             StridedRows<float>{call.v + i * call.v_width, call.v_width, 1},
             SteppedLines<float>{call.filters, kWidth},
             Epilogue<float>{call.m + i * call.width, call.width, 1.f, adds ? 1.f : 0.f, nullptr});
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::winograd
