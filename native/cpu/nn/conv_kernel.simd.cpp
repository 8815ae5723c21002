#include "cpu/nn/conv_kernel.h"

#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/conv_forward.h"
#include "cpu/nn/conv_lanes.h"
#include "cpu/nn/conv_padding.h"
#include "cpu/nn/conv_wide.h"
#include "cpu/nn/line_sums.h"
#include "cpu/nn/placed_rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// One output channel (as in depthwise convolutions): four vectors of positions at a time.
template <class T>
void forward_single(const ConvBlock<T>& block) {
  constexpr int lanes = kLanes<T>, wide = 4;
  for (int64_t q = 0; q < block.positions;) {
    const T* source = block.source + q;
    if (q + wide * lanes <= block.positions) {
      Vector<T> sum[wide] = {};
      for (int64_t p = 0; p < block.depth; ++p) {
        const Vector<T> factor = splat(block.weights[p * kTileRows]);
#pragma GCC unroll 4
        for (int j = 0; j < wide; ++j)
          sum[j] = multiply_add<T>(load(source + block.offsets[p] + j * lanes), factor, sum[j]);
      }
#pragma GCC unroll 4
      for (int j = 0; j < wide; ++j) store(block.sums + q + j * lanes, sum[j]);
      q += wide * lanes;
      continue;
    }
    const int64_t count = std::min<int64_t>(lanes, block.positions - q);
    const Mask<T> mask(count);
    Vector<T> sum = {};
    for (int64_t p = 0; p < block.depth; ++p)
      sum = multiply_add<T>(mask.load(source + block.offsets[p]),
                            splat(block.weights[p * kTileRows]), sum);
    mask.store(block.sums + q, sum);
    q += count;
  }
}

template <class T>
void forward(const ConvBlock<T>& block) {
  if (block.runs) return forward_packed(block);
  if (block.outputs == 1 && block.depth > 0) return forward_single(block);
  for (int64_t p = 0; p < block.depth; p += kDepth) {
    const int64_t depth = std::min(kDepth, block.depth - p);
    for (int64_t q = 0; q < block.positions; q += kTileColumns<T>)
      for (int64_t i = 0; i < block.outputs; i += kTileRows)
        run_tile(
            std::min<int64_t>(kTileRows, block.outputs - i),
            std::min(kTileColumns<T>, block.positions - q), depth,
            PackedRows<T>{block.weights + i * block.depth + p * kTileRows},
            ScatteredLines<T>{block.source + q, block.offsets + p},
            Epilogue<T>{block.sums + i * block.step + q, block.step, T(1), T(p ? 1 : 0), nullptr});
  }
}

/// Few output channels: dot products along runs of positions, up to `taps` of them at a time.
template <class T, int taps>
void weight_dots(const ConvWeightBlock<T>& block, int64_t first_tap, int64_t k) {
  constexpr int lanes = kLanes<T>;
  Vector<T> sum[taps] = {};
  const T* grad = block.grad + k * block.grad_step;
  for (int64_t q = 0; q < block.positions; q += block.run) {
    const T* source = block.source + block.places[q];
    for (int64_t j = 0; j < block.run; j += lanes) {
      const bool whole = j + lanes <= block.run;
      const Mask<T> mask(whole ? lanes : block.run - j);
      const Vector<T> g = whole ? load(grad + q + j) : mask.load(grad + q + j);
#pragma GCC unroll 8
      for (int t = 0; t < taps; ++t) {
        const T* from = source + block.offsets[first_tap + t] + j;
        sum[t] = multiply_add<T>(whole ? load(from) : mask.load(from), g, sum[t]);
      }
    }
  }
  for (int t = 0; t < taps; ++t) {
    T total = sum[t][0];
    for (int l = 1; l < lanes; ++l) total += sum[t][l];
    block.sums[(first_tap + t) * block.outputs + k] += total;
  }
}

/// A panel of the gradient of outputs from k on, at positions [first, first + count) of all its
/// images.
template <class T>
void pack_grad(const ConvWeightBlock<T>& block, int64_t first, int64_t count, int64_t k,
               T* packed) {
  constexpr int64_t width = kTileColumns<T>;
  for (int64_t done = 0; done < count;) {
    const int64_t image = (first + done) / block.image_positions;
    const int64_t from = (first + done) % block.image_positions;
    const int64_t length = std::min(count - done, block.image_positions - from);
    pack_lines(block.grad + image * block.grad_image_step + from + k * block.grad_step,
               block.grad_step, int64_t(1), std::min(width, block.outputs - k), length,
               packed + done * width, width);
    done += length;
  }
}

template <class T>
void add_weight_products(const ConvWeightBlock<T>& block) {
  if (block.outputs <= 2) {
    for (int64_t k = 0; k < block.outputs; ++k) {
      int64_t t = 0;
      for (; t + 5 <= block.taps; t += 5) weight_dots<T, 5>(block, t, k);
      for (; t < block.taps; ++t) weight_dots<T, 1>(block, t, k);
    }
    return;
  }
  add_placed_products(
      PlacedSums<T>{block.taps, block.outputs, block.source, block.offsets, block.sums},
      block.positions, block.places, [&](int64_t first, int64_t count, int64_t k, T* packed) {
        pack_grad(block, first, count, k, packed);
      });
}

template <class T>
void finish_weights(const ConvWeightSums<T>& call, int64_t first, int64_t last) {
  const int64_t taps = call.taps, outputs = call.outputs;
  const auto add_parts = [&](int64_t begin, int64_t end) {
    add_lines(call.parts - 1, end - begin, call.sums + call.part_step + begin, call.part_step,
              call.sums + begin, 0);
  };
  if (call.by_outputs) {
    add_parts(first * taps, last * taps);
    std::copy(call.sums + first * taps, call.sums + last * taps, call.result + first * taps);
    return;
  }
  for (int64_t t = 0; t < taps; ++t) add_parts(t * outputs + first, t * outputs + last);
  pack_lines(call.sums + first, outputs, int64_t(1), taps, last - first, call.result + first * taps,
             taps);
}

template <class T>
void pad_rows(const SourceRows<T>& rows, T* to) {
  if (rows.step == 1)
    pad_by_vectors(
        rows, to,
        [&](int64_t count, int64_t lane) {
          return [data = rows.data, mask = Mask<T>(count, lane)](int64_t place) {
            return mask.load(data + place);
          };
        },
        [data = rows.data](int64_t place) { return load(data + place); });
  else if (rows.step == 2)
    pad_by_vectors(
        rows, to,
        [&](int64_t count, int64_t lane) { return EvenReader<T>(rows.data, count, lane); },
        [data = rows.data](int64_t place) { return every_second(data + place); });
  else
    pad_by_elements(rows, to, [&](int64_t place, T* row) {
      for (int64_t i = 0; i < rows.count; ++i) row[i] = rows.data[place + i * rows.step];
    });
}

template <class T>
void finish_row(const T* sums, T shift, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = sums[i] + shift;
}

}  // namespace

template <class T>
const ConvKernels<T>& conv_kernels() {
  static constexpr ConvKernels<T> kernels{
      &pack_conv_weights<T>, &forward<T>,       &pad_rows<T>,
      &finish_row<T>,        kTileRows,         PatchReader<T>::kSteps,
      &pack_lane_weights<T>, &forward_lanes<T>, &turn_lanes<T>,
      kTileColumns<T>,       kLanes<T>,         nullptr,
      wide_packer<T>(),      wide_forward<T>(), kWideRows};
  return kernels;
}
template const ConvKernels<float>& conv_kernels();
template const ConvKernels<double>& conv_kernels();

template <class T>
const ConvWeightKernels<T>& conv_weight_kernels() {
  static constexpr ConvWeightKernels<T> kernels{&add_weight_products<T>, &finish_weights<T>};
  return kernels;
}
template const ConvWeightKernels<float>& conv_weight_kernels();
template const ConvWeightKernels<double>& conv_weight_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
