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

/// Registers 0 to 3 hold sums, 4 and 5 channels, 6 and 7 gradients.
template <class Registers>
void add_matrix_products(const MatrixGradBlock& block) {
  constexpr int64_t matrix = 256, line = kMatrixOutputs * 4;
  const int64_t channel = block.channel_step * 2;
  for (int64_t t = 0; t < block.taps; ++t) {
    float* const sums = block.sums + t * 4 * matrix;
    float* const corners[] = {sums, sums + 16, sums + 2 * matrix, sums + 2 * matrix + 16};
    if (block.adds) {
      Registers::template load<0>(corners[0], line);
      Registers::template load<1>(corners[1], line);
      Registers::template load<2>(corners[2], line);
      Registers::template load<3>(corners[3], line);
    } else {
      Registers::template zero<0>();
      Registers::template zero<1>();
      Registers::template zero<2>();
      Registers::template zero<3>();
    }
    const bfloat16* const source = block.source + block.offsets[t];
    const Bfloat16Pair* grads = block.grads;
    for (int64_t i = 0; i < block.steps; ++i, grads += 2 * matrix) {
      const bfloat16* const pixels = source + block.places[i];
      Registers::template load<6>(grads, 64);
      Registers::template load<4>(pixels, channel);
      Registers::template multiply_add<0, 4, 6>();
      Registers::template load<7>(grads + matrix, 64);
      Registers::template multiply_add<1, 4, 7>();
      Registers::template load<5>(pixels + 16 * block.channel_step, channel);
      Registers::template multiply_add<2, 5, 6>();
      Registers::template multiply_add<3, 5, 7>();
    }
    Registers::template store<0>(corners[0], line);
    Registers::template store<1>(corners[1], line);
    Registers::template store<2>(corners[2], line);
    Registers::template store<3>(corners[3], line);
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
