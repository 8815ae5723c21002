#pragma once

/// What group normalization of any layout shares: where groups lie, what channels of samples add to
/// the gradients of parameters. Include only from *.simd.cpp files.

#include <vector>

#include "cpu/nn/normal_rows.h"
#include "cpu/short_sums.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// [batch, channels, area], of which some channels of a sample are a row: what is normalized.
struct Groups {
  int64_t batch, channels, area, rows, together;
  Groups(const Tensor& input, const Tensor& average)
      : batch(input.sizes()[0]),
        channels(input.sizes()[1]),
        area(input.sizes()[2]),
        rows(average.numel()),
        together(rows == 0 ? 0 : batch * channels / rows) {}
  int64_t length() const { return together * area; }
  /// The first channel of a row.
  int64_t channel(int64_t row) const { return row * together % std::max<int64_t>(channels, 1); }
};

template <class C>
C at(const C* values, int64_t i, C otherwise) {
  return values ? values[i] : otherwise;
}

/// What each channel of each sample adds to the gradients of its weight and its bias.
template <class C>
class Shares {
 public:
  explicit Shares(const Groups& groups)
      : batch_(groups.batch),
        channels_(groups.channels),
        shares_(static_cast<size_t>(2 * batch_ * channels_)) {}

  /// `channel`: of the sample, with those of all samples before.
  void set(int64_t channel, C weight, C bias) {
    shares_[static_cast<size_t>(2 * channel)] = weight;
    shares_[static_cast<size_t>(2 * channel + 1)] = bias;
  }

  void finish(const Tensor& weight_grad, const Tensor& bias_grad) const {
    const int64_t width = 2 * channels_;
    std::vector<C> totals(static_cast<size_t>(width)), part(totals);
    sum_in_parts(totals.data(), batch_, width, part.data(), [&](C* to, int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const C* const from = shares_.data() + n * width;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) to[i] += from[i];
      }
    });
    for (int64_t c = 0; c < channels_; ++c) {
      weight_grad.data<C>()[c] = totals[static_cast<size_t>(2 * c)];
      bias_grad.data<C>()[c] = totals[static_cast<size_t>(2 * c + 1)];
    }
  }

 private:
  int64_t batch_, channels_;
  std::vector<C> shares_;
};

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
