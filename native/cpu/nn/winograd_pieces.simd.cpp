#include "cpu/nn/winograd_pieces.h"

#include <algorithm>

#include "cpu/nn/winograd_parts.h"

// As in winograd.simd.cpp, with A^T = [1 1 1 0; 0 1 -1 0; 0 1 1 -1] and G = [1 0; 1/2 1/2;
// 1/2 -1/2; 0 1] for pieces of two taps: sixteen products per channel make nine results. Pieces are
// more channels, phases more outputs.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using namespace winograd;

using Shape = WinogradPiecesShape;

int64_t filter_step(const Shape& shape) { return matrix_step(shape.depth() * kWidth); }
int64_t filter_size(const Shape& shape) { return shape.phases() * 16 * filter_step(shape); }

/// Calls body(i, first, second) for each pair of numbers below `count`, the i-th.
template <class Body>
void for_pairs(int64_t count, const Body& body) {
  for (int64_t i = 0; i < count * count; ++i) body(i, i / count, i % count);
}

/// packed[(phase * 16 + xi) * filter_step + (piece * channels + c) * kWidth + i].
template <int taps>
void pack_panel(const Shape& shape, const ConvWeights<float>& weights, int64_t panel,
                float* packed) {
  const WinogradPieces& cut = shape.cut;
  const int64_t first = panel * kWidth, rows = std::min(kWidth, shape.outputs - first);
  const int64_t step = filter_step(shape), side = cut.side();
  alignas(64) float filters[static_cast<size_t>((kMostPieceTaps + 1) * kWidth)] = {};
  const float* const none = filters + kMostPieceTaps * kWidth;
  for (int64_t c = 0; c < shape.channels; ++c) {
    pack_lines(weights.data + first * weights.row + c * weights.major, weights.row, int64_t(1),
               rows, side * side, filters, kWidth);
    for_pairs(cut.phases, [&](int64_t phase, int64_t down, int64_t across) {
      for_pairs(cut.pieces, [&](int64_t piece, int64_t a, int64_t b) {
        const float* from[taps * taps];
        for_pairs(taps, [&](int64_t t, int64_t r, int64_t s) {
          const int64_t y = cut.tap(a, down, r), x = cut.tap(b, across, s);
          from[t] = y < 0 || x < 0 ? none : filters + weights.taps[y * side + x] * kWidth;
        });
        float* const to = packed + phase * 16 * step + (piece * shape.channels + c) * kWidth;
        for (int64_t i = 0; i < kWidth; i += kLane) {
          Lane g[taps][taps];
#pragma GCC unroll 9
          for (int t = 0; t < taps * taps; ++t) g[t / taps][t % taps] = load(from[t] + i);
          transform_taps(g, step, to + i);
        }
      });
    });
  }
}

void pack(const Shape& shape, const ConvWeights<float>& weights, int64_t panel, float* packed) {
  shape.cut.taps == 3 ? pack_panel<3>(shape, weights, panel, packed)
                      : pack_panel<2>(shape, weights, panel, packed);
}

/// Calls body(block, its row of blocks, its column) for the blocks of a part of one image.
template <class Body>
void for_blocks(const Shape& shape, const WinogradPart& part, const Body& body) {
  const int64_t columns = shape.strips().blocks;
  for (int64_t block = 0; block < part.strips * columns; ++block)
    body(block, part.first_strip + block / columns, block % columns);
}

/// `v`: of the first of an image's blocks.
void transform_source(const Shape& shape, const WinogradPart& part, const Lines& lines,
                      const Matrices& v) {
  const WinogradPieces& cut = shape.cut;
  for_blocks(shape, part, [&](int64_t block, int64_t i, int64_t j) {
    for_pairs(cut.pieces, [&](int64_t piece, int64_t a, int64_t b) {
      const float* from[16];
      for (int64_t t = 0; t < 16; ++t)
        from[t] = lines.at(cut.pixel(i, a, t / 4) - shape.border[0],
                           cut.pixel(j, b, t % 4) - shape.border[1]);
      for (int64_t c = 0; c < shape.channels; c += kLane) {
        const int64_t line = piece * shape.channels + c;
        transform_pixels(from, c, v.part(line / v.width) + block * v.width + line % v.width,
                         v.step);
      }
    });
  });
}

/// m[(phase * 16 + xi) * step + block * width + output]: elements of blocks that reach outside go
/// to the line of zeros' place. False if some are not finite.
template <int sums>
bool transform_result(const Shape& shape, const WinogradPart& part, const Lines& lines,
                      int64_t step, const float* m) {
  const WinogradPieces& cut = shape.cut;
  const int64_t apart = cut.phases, size = cut.result_block();
  Lane seen{};
  for_blocks(shape, part, [&](int64_t block, int64_t i, int64_t j) {
    for_pairs(cut.phases, [&](int64_t phase, int64_t down, int64_t across) {
      float* to[sums * sums];
      for_pairs(sums, [&](int64_t t, int64_t y, int64_t x) {
        to[t] = lines.at(i * size + y * apart + down - shape.lead[0],
                         j * size + x * apart + across - shape.lead[1]);
      });
      const float* from = m + phase * 16 * step + block * lines.width;
      for (int64_t k = 0; k < lines.width; k += kLane, from += kLane) {
        Lane results[sums][sums];
        transform_products(from, step, results);
#pragma GCC unroll 9
        for (int t = 0; t < sums * sums; ++t) {
          store(to[t] + k, results[t / sums][t % sums]);
          seen += results[t / sums][t % sums] * splat(0.f);
        }
      }
    });
  });
  return is_zero(seen);
}

struct Rows {
  int64_t first, last;
};
Rows inside(int64_t first, int64_t last, int64_t rows) {
  return {std::clamp<int64_t>(first, 0, rows), std::clamp<int64_t>(last, 0, rows)};
}

void transform_images(const Shape& shape, const WinogradPart& part, const float* source,
                      const Matrices& v) {
  const WinogradPieces& cut = shape.cut;
  const int64_t end = part.first_strip + part.strips, top = shape.border[0];
  const Rows rows = inside(cut.pixel(part.first_strip, 0, 0) - top,
                           cut.pixel(end - 1, cut.pieces - 1, 3) + 1 - top, shape.source[0]);
  const Lines lines = make_lines(0, shape.channels, rows.first, rows.last, shape.source[1]);
  const int64_t blocks = part.strips * shape.strips().blocks;
  for (int64_t n = 0; n < part.images; ++n) {
    read_lines(lines, source + n * shape.source_step, shape.channels,
               shape.source[0] * shape.source[1]);
    transform_source(shape, part, lines, v.from(n * blocks));
  }
}

bool write_images(const Shape& shape, const WinogradPart& part, const float* m, int64_t step,
                  const float* bias, float* result) {
  const int64_t size = shape.cut.result_block(), end = part.first_strip + part.strips;
  const Rows rows =
      inside(part.first_strip * size - shape.lead[0], end * size - shape.lead[0], shape.result[0]);
  const Lines lines = make_lines(3, shape.outputs, rows.first, rows.last, shape.result[1]);
  const int64_t blocks = part.strips * shape.strips().blocks;
  const auto transform = shape.cut.taps == 3 ? transform_result<2> : transform_result<3>;
  for (int64_t n = 0; n < part.images; ++n) {
    if (!transform(shape, part, lines, step, m + n * blocks * lines.width)) return false;
    write_lines(lines, bias, shape.outputs, shape.result[0] * shape.result[1],
                result + n * shape.result_step);
  }
  return true;
}

bool forward(const Shape& shape, const WinogradPart& part, const float* packed, const float* source,
             const float* bias, float* result) {
  const int64_t positions = part.images * part.strips * shape.strips().blocks;
  const int64_t depth = shape.depth(), width = padded(shape.outputs);
  const int64_t step = matrix_step(positions * width), matrices_of_result = 16 * shape.phases();
  const int64_t size = matrices_size(positions, depth, kDepth), panel_size = filter_size(shape);
  const Matrices v =
      matrices(scratch<float>(1, static_cast<size_t>(size)), positions, depth, kDepth);
  float* const m = scratch<float>(2, static_cast<size_t>(matrices_of_result * step));
  transform_images(shape, part, source, v);
  for (int64_t i = 0; i < matrices_of_result; ++i)
    for (int64_t j = 0; j < width; j += kWidth)
      for (int64_t p = 0; p < depth; p += kDepth)
        multiply_panel({positions, std::min(kWidth, width - j), std::min(kDepth, depth - p),
                        v.part(p / kDepth) + i % 16 * v.step, v.width,
                        packed + j / kWidth * panel_size + i * filter_step(shape) + p * kWidth,
                        m + i * step + j, width},
                       p > 0);
  return write_images(shape, part, m, step, bias, result);
}

}  // namespace

const WinogradPiecesKernels& winograd_pieces_kernels() {
  static constexpr WinogradPiecesKernels kernels{&pack, &forward, &filter_size, kWidth, kLane};
  return kernels;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
