// Convolutions of bfloat16 for processors that multiply pairs of them (AVX-512 BF16).

#include "cpu/linalg/bfloat16_products.h"

#include "cpu/nn/conv_forward.h"
#include "cpu/nn/conv_lanes.h"
#include "cpu/nn/conv_padding.h"
#include "cpu/nn/conv_pairs.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
namespace {

void copy_row(const bfloat16* from, int64_t step, int64_t count, bfloat16* to) {
  constexpr int64_t lanes = kLanes<float>;
  const auto first_of = [&](int64_t left) {
    return static_cast<__mmask16>((1u << std::min(left, lanes)) - 1);
  };
  if (step == 1) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      *reinterpret_cast<HalfVector*>(to + i) = load_halves(from + i);
    if (i < count) {
      const __mmask16 mask = first_of(count - i);
      _mm256_mask_storeu_epi16(to + i, mask, _mm256_maskz_loadu_epi16(mask, from + i));
    }
  } else if (step == 2 && count > 0) {
    // Each with its neighbour, which the last may not have.
    for (int64_t i = 0; i < count - 1; i += lanes) {
      const __mmask16 mask = first_of(count - 1 - i);
      const auto pairs = (Vector<uint32_t>)_mm512_maskz_loadu_epi32(mask, from + 2 * i);
      const HalfVector halves = __builtin_convertvector(pairs, HalfVector);
      _mm256_mask_storeu_epi16(to + i, mask, (__m256i)halves);
    }
    to[count - 1] = from[2 * (count - 1)];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  }
}

void pad_rows(const SourceRows<bfloat16>& rows, bfloat16* to) {
  pad_by_elements(rows, to, [&](int64_t place, bfloat16* row) {
    copy_row(rows.data + place, rows.step, rows.count, row);
  });
}

void finish_row(const float* sums, float shift, int64_t count, bfloat16* to) {
  constexpr int64_t lanes = kLanes<float>;
  for (; count >= lanes; count -= lanes, sums += lanes, to += lanes)
    *reinterpret_cast<HalfVector*>(to) = Paired::narrow_any(load(sums) + splat(shift));
  if (count == 0) return;
  const HalfVector rest = Paired::narrow_any(Mask<float>(count).load(sums) + splat(shift));
  std::memcpy(static_cast<void*>(to), &rest, static_cast<size_t>(count) * sizeof(bfloat16));
}

}  // namespace

const ConvKernels<bfloat16>* paired_conv_kernels() {
  static constexpr ConvKernels<bfloat16> kernels{&pack_conv_weights<bfloat16>,
                                                 &forward_packed<bfloat16>,
                                                 &pad_rows,
                                                 &finish_row,
                                                 kTileRows,
                                                 PatchReader<bfloat16>::kSteps,
                                                 &pack_lane_pairs,
                                                 &forward_lanes<bfloat16>,
                                                 &turn_lanes<bfloat16>,
                                                 kTileColumns<Bfloat16Pair>,
                                                 kLanes<Bfloat16Pair>,
                                                 &pad_pairs};
  return &kernels;
}
#else
const ConvKernels<bfloat16>* paired_conv_kernels() { return nullptr; }
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
