#pragma once

#include <algorithm>

#include "cpu/linalg/matrix_tiles.h"
#include "cpu/nn/matrix_conv.h"

// The gradient of filters in registers that hold matrices. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
inline void pack_matrix_grads(const bfloat16* lines, int64_t line, int64_t outputs, int64_t steps,
                              Bfloat16Pair* packed) {
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t i = 0; i < kMatrixOutputs; i += 16) {
      Vector<Bfloat16Pair> square[16] = {};
      for (int64_t r = 0; r < std::min<int64_t>(16, outputs - i); ++r)
        square[r] = Paired::along(lines + (i + r) * line + step * 32);
      transpose_square<Bfloat16Pair>(square);
      for (const auto& pair : square) {
        store(packed, pair);
        packed += 16;
      }
    }
}

template <class Registers>
void add_matrix_products(const MatrixGradBlock& block) {
  using Sums = MatrixSums<Registers, 2, 2>;
  constexpr int64_t matrix = 256;
  const int64_t channel = block.channel_step * 2;
  for (int64_t t = 0; t < block.taps; ++t) {
    float* const sums = block.sums + t * 4 * matrix;
    if (block.adds)
      Sums::read(sums, kMatrixOutputs);
    else
      Sums::clear();
    const auto next = [source = block.source + block.offsets[t], place = block.places,
                       grads = block.grads]() mutable {
      const MatrixFactors factors{source + *place++, grads};
      grads += 2 * matrix;
      return factors;
    };
    Sums::add(block.steps, {channel, 16 * channel, 64, matrix * 4}, next);
    Sums::write(sums, kMatrixOutputs);
  }
}

/// Lines of 32 channels for each tap become lines of the taps of each channel.
class TapLines {
 public:
  explicit TapLines(int64_t taps) : taps_(taps) {
    for (int64_t v = 0; v < taps; ++v) {
      alignas(64) uint16_t channels[32];
      for (int64_t lane = 0; lane < 32; ++lane) {
        const int64_t place = 32 * v + lane;
        channels[lane] = static_cast<uint16_t>(place / taps);
        masks_[v][place % taps] |= __mmask32{1} << lane;
      }
      channels_[v] = _mm512_load_si512(channels);
    }
  }
  /// lines[t * step] of tap t.
  void write(const bfloat16* lines, int64_t step, int64_t count, bfloat16* to) const {
    for (int64_t v = 0; 32 * v < count; ++v) {
      __m512i found = _mm512_setzero_si512();
      for (int64_t t = 0; t < taps_; ++t)
        found = _mm512_mask_permutexvar_epi16(found, masks_[v][t], channels_[v],
                                              _mm512_loadu_si512(lines + t * step));
      const int64_t left = std::min<int64_t>(count - 32 * v, 32);
      _mm512_mask_storeu_epi16(to + 32 * v, static_cast<__mmask32>((uint64_t{1} << left) - 1),
                               found);
    }
  }

 private:
  int64_t taps_;
  __m512i channels_[kMatrixTaps];
  __mmask32 masks_[kMatrixTaps][kMatrixTaps] = {};
};

inline bool finish_matrix_grads(const MatrixGradResult& call) {
  constexpr int64_t side = 32;
  const TapLines taps(call.taps);
  alignas(64) bfloat16 lines[16][kMatrixTaps][side];
  Vector<float> zeros = {};
  for (int64_t k = 0; k < call.outputs; k += 16) {
    const int64_t some = std::min<int64_t>(16, call.outputs - k);
    for (int64_t t = 0; t < call.taps; ++t)
      for (int64_t c = 0; c < call.channels; c += 16) {
        Vector<float> square[16];
        for (int64_t i = 0; i < 16; ++i)
          square[i] = load(call.sums + (t * side + c + i) * side + k);
        transpose_square<float>(square);
        const auto mask =
            static_cast<__mmask16>((1u << std::min<int64_t>(16, call.channels - c)) - 1);
        for (int64_t i = 0; i < 16; ++i) {
          *reinterpret_cast<HalfVector*>(&lines[i][t][c]) = Paired::narrow(square[i]);
          // 0 times a number is 0, unless that is not finite.
          if (i < some)
            zeros += (Vector<float>)_mm512_maskz_mul_ps(mask, (__m512)square[i], __m512{});
        }
      }
    for (int64_t i = 0; i < some; ++i)
      taps.write(lines[i][0], side, call.channels * call.taps, call.result + (k + i) * call.row);
  }
  float total = 0;
  for (int i = 0; i < 16; ++i) total += zeros[i];
  return total == 0;
}
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
