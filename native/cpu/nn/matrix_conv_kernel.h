#pragma once

#include <algorithm>
#include <array>

#include "cpu/linalg/matrix_tiles.h"
#include "cpu/nn/matrix_conv.h"

// What registers that hold matrices multiply in convolutions. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
inline constexpr int64_t kMatrix = 16 * kMatrixPairs;  // pairs of a register

/// Sums of 32 outputs at 32 positions, or, if not `wide`, 16.
template <class Registers, bool wide>
void multiply_taps(const MatrixConvBlock& block, int64_t first) {
  using Sums = MatrixSums<Registers, 2, wide ? 2 : 1>;
  constexpr int64_t line = kMatrixPairs * 4;
  const auto next = [weights = block.weights, source = block.source + first,
                     offset = block.offsets]() mutable {
    const MatrixFactors factors{weights, source + *offset++};
    weights += 2 * kMatrix;
    return factors;
  };
  Sums::clear();
  Sums::add(block.steps, {line, kMatrix * 4, block.pair_step * 4, line}, next);
  Sums::write(block.sums + first, block.step);
}

template <class Registers>
void forward_matrices(const MatrixConvBlock& block) {
  int64_t q = 0;
  for (; q + 16 < block.positions; q += 32) multiply_taps<Registers, true>(block, q);
  if (q < block.positions) multiply_taps<Registers, false>(block, q);
}

/// The pairs of channels of a panel's outputs at the taps of a step.
class PackedFilters {
 public:
  PackedFilters(const ConvWeights<bfloat16>& weights, int64_t panel, Bfloat16Pair* packed)
      : weights_(weights),
        data_(weights.data + panel * kMatrixOutputs * weights.row),
        outputs_(std::min(kMatrixOutputs, weights.outputs - panel * kMatrixOutputs)),
        packed_(packed) {}

  /// Registers that the panel fills.
  int64_t squares() const { return (weights_.majors + 31) / 32 * weights_.tap_count * 2; }

  /// Of the tap numbered `tap`, of 32 channels from `channel` on.
  Bfloat16Pair* line(int64_t output, int64_t channel, int64_t tap) const {
    return packed_ +
           ((channel / 32 * weights_.tap_count + tap) * kMatrixOutputs + output) * kMatrixPairs;
  }

  void pack() const {
    const int64_t most = *std::max_element(weights_.taps, weights_.taps + weights_.tap_count) + 1;
    const bool by_channels = most <= weights_.major && weights_.major <= kMostTaps;
    const bool by_outputs = most <= weights_.row && weights_.row <= kMostTaps;
    const bool is_pixel = weights_.major == 1 || weights_.row == 1;
    if (outputs_ < kMatrixOutputs || !(by_channels || by_outputs || is_pixel))
      std::fill_n(packed_, squares() * kMatrix, 0);
    if (weights_.major == 1)
      copy_channels();
    else if (weights_.row == 1)
      for (int64_t t = 0; t < weights_.tap_count; ++t) pack_by_outputs(weights_.taps[t], 1, {t});
    else if (by_channels)
      pack_by_channels();
    else if (by_outputs)
      pack_by_outputs(0, most, numbers_of_taps());
    else
      pack_elements();
  }

 private:
  static constexpr int64_t kMostTaps = 32;

  /// Filters whose channels follow each other: of a vector of halves, each tap takes what is its.
  void pack_by_channels() const {
    const int64_t range = weights_.major;
    __m512i places[kMostTaps];
    __mmask32 masks[kMostTaps][kMostTaps] = {};
    for (int64_t t = 0; t < weights_.tap_count; ++t) {
      alignas(64) uint16_t lanes[32];
      for (int64_t c = 0; c < 32; ++c) {
        const int64_t place = c * range + weights_.taps[t];
        lanes[c] = static_cast<uint16_t>(place % 32);
        masks[t][place / 32] |= __mmask32{1} << c;
      }
      places[t] = _mm512_load_si512(lanes);
    }
    __m512i source[kMostTaps];
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t channel = 0; channel < weights_.majors; channel += 32) {
        const bfloat16* const from = data_ + i * weights_.row + channel * range;
        const int64_t count = std::min<int64_t>(32, weights_.majors - channel) * range;
        for (int64_t v = 0; v < range; ++v)
          source[v] = _mm512_maskz_loadu_epi16(first_of(count - v * 32), from + v * 32);
        for (int64_t t = 0; t < weights_.tap_count; ++t) {
          __m512i found = _mm512_setzero_si512();
          for (int64_t v = 0; v < range; ++v)
            found = _mm512_mask_permutexvar_epi16(found, masks[t][v], places[t], source[v]);
          _mm512_storeu_si512(line(i, channel, t), found);
        }
      }
  }

  /// Filters whose taps' channels follow each other.
  void copy_channels() const {
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t t = 0; t < weights_.tap_count; ++t)
        for (int64_t channel = 0; channel < weights_.majors; channel += 32)
          _mm512_storeu_si512(
              line(i, channel, t),
              _mm512_maskz_loadu_epi16(first_of(weights_.majors - channel),
                                       data_ + i * weights_.row + weights_.taps[t] + channel));
  }

  using Numbers = std::array<int64_t, kMostTaps>;
  /// Which tap each element of a row is of, or -1.
  Numbers numbers_of_taps() const {
    Numbers numbers;
    numbers.fill(-1);
    for (int64_t t = 0; t < weights_.tap_count; ++t)
      numbers[static_cast<size_t>(weights_.taps[t])] = t;
    return numbers;
  }

  /// Filters whose outputs follow each other: lines of pairs of channels are turned. `most`
  /// elements of a row from `first` on are of the taps with these numbers.
  void pack_by_outputs(int64_t first, int64_t most, const Numbers& numbers) const {
    const int64_t count = (outputs_ - 1) * weights_.row + most;
    Vector<Bfloat16Pair> square[16];
    for (int64_t channel = 0; channel < weights_.majors; channel += 32)
      for (int64_t e = 0; e < count; e += 16) {
        const __mmask16 mask = static_cast<__mmask16>(first_of(std::min<int64_t>(count - e, 16)));
        for (int64_t r = 0; r < 16; ++r) {
          const int64_t low = channel + 2 * r;
          const bfloat16* const from = data_ + low * weights_.major + first + e;
          const auto of = [&](int64_t c) {
            return low + c < weights_.majors ? load_halves(mask, from + c * weights_.major)
                                             : HalfVector{};
          };
          square[r] = pair_rows(of(0), of(1));
        }
        transpose_square<Bfloat16Pair>(square);
        for (int64_t q = 0; q < std::min<int64_t>(count - e, 16); ++q) {
          const int64_t tap = numbers[static_cast<size_t>((e + q) % weights_.row)];
          if (tap >= 0) store(line((e + q) / weights_.row, channel, tap), square[q]);
        }
      }
  }

  void pack_elements() const {
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t c = 0; c < weights_.majors; ++c)
        for (int64_t t = 0; t < weights_.tap_count; ++t) {
          const bfloat16 value = data_[i * weights_.row + c * weights_.major + weights_.taps[t]];
          line(i, c, t)[c % 32 / 2] |= static_cast<Bfloat16Pair>(value.bits) << (c % 2 * 16);
        }
  }

  static __mmask32 first_of(int64_t count) {
    return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(count, 0, 32)) - 1);
  }

  const ConvWeights<bfloat16>& weights_;
  const bfloat16* data_;
  int64_t outputs_;
  Bfloat16Pair* packed_;
};

inline void pack_matrix_filters(const ConvWeights<bfloat16>& weights, int64_t panel,
                                Bfloat16Pair* packed) {
  PackedFilters(weights, panel, packed).pack();
}

/// The same with the outputs of each pair of channels next to each other.
inline void pack_turned_filters(const ConvWeights<bfloat16>& weights, int64_t panel,
                                Bfloat16Pair* packed) {
  const PackedFilters filters(weights, panel, packed);
  filters.pack();
  for (int64_t i = 0; i < filters.squares(); ++i, packed += kMatrix) {
    Vector<Bfloat16Pair> square[16];
    for (int64_t r = 0; r < 16; ++r) square[r] = load(packed + r * 16);
    transpose_square<Bfloat16Pair>(square);
    for (int64_t r = 0; r < 16; ++r) store(packed + r * 16, square[r]);
  }
}

/// Sums are never subnormal; a shift may make them so.
inline void finish_matrix_row(const float* sums, float shift, int64_t count, bfloat16* to,
                              int64_t step) {
  constexpr int64_t lanes = kLanes<float>;
  const auto finish = [&](const auto& narrow) {
    for (; count > 0; count -= lanes, sums += lanes, to += lanes * step) {
      const auto mask = static_cast<__mmask16>((1u << std::min(count, lanes)) - 1);
      const HalfVector halves = narrow(Vector<float>(_mm512_maskz_loadu_ps(mask, sums)));
      if (step == 1) {
        _mm256_mask_storeu_epi16(to, mask, (__m256i)halves);
      } else if (step == 2) {
        const __mmask32 evens = _pdep_u32(mask, 0x55555555);
        _mm512_mask_storeu_epi16(to, evens, (__m512i)spread_halves(halves));
      } else {
        for (int64_t i = 0; i < std::min(count, lanes); ++i) to[i * step].bits = halves[i];
      }
    }
  };
  if (shift == 0)
    finish([](Vector<float> value) { return Paired::narrow(value); });
  else
    finish([&](Vector<float> value) { return Paired::narrow_any(value + splat(shift)); });
}
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
