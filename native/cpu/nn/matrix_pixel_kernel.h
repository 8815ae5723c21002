#pragma once

#include <algorithm>

#include "cpu/linalg/matrix_tiles.h"
#include "cpu/nn/matrix_conv.h"

// Convolutions of pixels whose channels lie next to each other, in registers that hold matrices.
// Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
/// A vector of each pixel at a time.
inline void copy_matrix_pixels(const bfloat16* from, int64_t step, int64_t count, int64_t width,
                               bfloat16* to, int64_t pixel) {
  constexpr int64_t lanes = 32;
  const auto first_of = [=](int64_t left) {
    return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(left, 0, lanes)) - 1);
  };
  for (int64_t j = 0; j < pixel; j += lanes) {
    const __mmask32 read = first_of(width - j), written = first_of(pixel - j);
    for (int64_t i = 0; i < count; ++i)
      _mm512_mask_storeu_epi16(to + i * pixel + j, written,
                               _mm512_maskz_loadu_epi16(read, from + i * step + j));
  }
}

/// sums[32, 32] of 32 positions, or, if not `tall`, 16, with the outputs of a panel.
template <class Registers, bool tall>
void multiply_pixels(const MatrixPixelBlock& block, const bfloat16* source, float* sums) {
  using Sums = MatrixSums<Registers, tall ? 2 : 1, 2>;
  constexpr int64_t matrix = 16 * kMatrixPairs;
  const int64_t line = block.pixel * 2;
  const auto next = [source, offset = block.offsets, weights = block.weights]() mutable {
    const MatrixFactors factors{source + *offset++, weights};
    weights += 2 * matrix;
    return factors;
  };
  Sums::clear();
  Sums::add(block.steps, {line, 16 * line, 64, matrix * 4}, next);
  Sums::write(sums, kMatrixOutputs);
}

/// Sums of positions from `first` on, rounded; those behind the end of a row are left.
class PixelResults {
 public:
  explicit PixelResults(const MatrixPixelBlock& block) : block_(block) {
    for (int64_t v = 0; v < 2; ++v) {
      const int64_t count = std::clamp<int64_t>(block.outputs - 16 * v, 0, 16);
      masks_[v] = static_cast<__mmask16>((1u << count) - 1);
      if (block.bias)
        shifts_[v] =
            (Vector<float>)(spread_halves(load_halves(masks_[v], block.bias + 16 * v)) << 16);
    }
  }

  void write(int64_t first, int64_t count, const float* sums) const {
    // Sums are never subnormal; a shift may make them so.
    if (block_.bias)
      write_by(first, count, sums, [&](Vector<float> value, int64_t v) {
        return Paired::narrow_any(value + shifts_[v]);
      });
    else
      write_by(first, count, sums,
               [](Vector<float> value, int64_t) { return Paired::narrow(value); });
  }

 private:
  template <class Narrow>
  void write_by(int64_t first, int64_t count, const float* sums, const Narrow& narrow) const {
    for (int64_t q = first; q < first + count;) {
      const int64_t row = q / block_.pitch, column = q % block_.pitch;
      const int64_t next = (row + 1) * block_.pitch;
      const int64_t last = std::min(first + count, row * block_.pitch + block_.columns);
      bfloat16* to = block_.result + row * block_.row_step + column * block_.step;
      for (; q < last; ++q, to += block_.step)
        for (int64_t v = 0; v < 2; ++v)
          _mm256_mask_storeu_epi16(
              to + 16 * v, masks_[v],
              (__m256i)narrow(load(sums + (q - first) * kMatrixOutputs + 16 * v), v));
      q = next;
    }
  }

  const MatrixPixelBlock& block_;
  __mmask16 masks_[2];
  Vector<float> shifts_[2] = {};
};

template <class Registers>
void forward_matrix_pixels(const MatrixPixelBlock& block) {
  alignas(64) float sums[32 * kMatrixOutputs];
  const PixelResults results(block);
  const int64_t positions = (block.rows - 1) * block.pitch + block.columns;
  for (int64_t q = 0; q < positions; q += 32) {
    const int64_t count = std::min<int64_t>(32, positions - q);
    const bfloat16* const source = block.source + q * block.pixel;
    if (count > 16)
      multiply_pixels<Registers, true>(block, source, sums);
    else
      multiply_pixels<Registers, false>(block, source, sums);
    results.write(q, count, sums);
  }
}
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
