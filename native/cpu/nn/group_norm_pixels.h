#pragma once

/// Group normalization of images whose channels lie next to each other.
/// Include only from *.simd.cpp files.

#include "cpu/math.h"
#include "cpu/nn/group_norm_groups.h"
#include "cpu/nn/pixel_columns.h"

#include "core/math/powers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {
namespace group_norm_pixels {

inline Pixels pixels_of(const Groups& groups) {
  return {groups.batch, groups.area, groups.channels};
}

template <class T>
void forward(const Groups& groups, const Tensor& result, const Tensor& average, const Tensor& rstd,
             const Tensor& input, const Tensor& weight, const Tensor& bias, double eps) {
  using C = Compute<T>;
  const Tensor weights = values_in<C>(weight), biases = values_in<C>(bias);
  const C *w = data_of<C>(weights), *b = data_of<C>(biases);
  const Pixels pixels = pixels_of(groups);
  const ColumnPairs<C> moments = moments_of(pixels, input.data<T>());
  std::vector<C> means(pixels.columns()), factors(means);
  std::vector<C> shifts(static_cast<size_t>(groups.channels));
  const int64_t together = groups.together;
  for (int64_t r = 0; r < groups.rows; ++r) {
    const C* mean = &moments.first[static_cast<size_t>(r * together)];
    const C* squares = &moments.second[static_cast<size_t>(r * together)];
    C middle = 0, sum = 0;
    for (int64_t c = 0; c < together; ++c) middle += mean[c];
    middle /= static_cast<C>(together);
    for (int64_t c = 0; c < together; ++c) {
      const C apart = mean[c] - middle;
      sum += squares[c] + static_cast<C>(groups.area) * apart * apart;
    }
    const C scale = math::rsqrt(sum / static_cast<C>(groups.length()) + static_cast<C>(eps));
    average.data<C>()[r] = middle;
    rstd.data<C>()[r] = scale;
    for (int64_t c = 0; c < together; ++c) {
      const size_t column = static_cast<size_t>(r * together + c);
      means[column] = middle;
      factors[column] = scale * at(w, groups.channel(r) + c, C(1));
    }
  }
  for (size_t c = 0; c < shifts.size(); ++c) shifts[c] = at(b, static_cast<int64_t>(c), C(0));
  scale_pixels(pixels, result.data<T>(), input.data<T>(), false, means, factors, shifts);
}

template <class T>
void grads(const Groups& groups, const Tensor& input_grad, const Tensor& weight_grad,
           const Tensor& bias_grad, const Tensor& grad_output, const Tensor& input,
           const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Tensor averages = values_in<C>(average), rstds = values_in<C>(rstd);
  const Tensor weights = values_in<C>(weight);
  const C* const w = data_of<C>(weights);
  const Pixels pixels = pixels_of(groups);
  const int64_t together = groups.together;
  const C length = static_cast<C>(groups.length());
  GradColumns<C> by(pixels.columns());
  for (int64_t i = 0; i < groups.rows * together; ++i)
    by.mean[static_cast<size_t>(i)] = averages.data<C>()[i / together];
  const ColumnPairs<C> sums =
      grad_sums_of(pixels, input.data<T>(), grad_output.data<T>(), by.mean, false);
  Shares<C> shares(groups);
  for (int64_t r = 0; r < groups.rows; ++r) {
    const C scale = rstds.data<C>()[r];
    const size_t first = static_cast<size_t>(r * together);
    C sum = 0, product = 0;
    for (int64_t c = 0; c < together; ++c) {
      const size_t column = first + static_cast<size_t>(c);
      const C factor = at(w, groups.channel(r) + c, C(1));
      shares.set(r * together + c, sums.second[column] * scale, sums.first[column]);
      by.factor[column] = scale * factor;
      sum += factor * sums.first[column];
      product += factor * sums.second[column];
    }
    const C shift = scale * sum / length, slope = scale * scale * scale * product / length;
    std::fill_n(&by.shift[first], together, shift);
    std::fill_n(&by.slope[first], together, slope);
  }
  grade_pixels(pixels, input_grad.data<T>(), input.data<T>(), grad_output.data<T>(), false, by);
  shares.finish(weight_grad, bias_grad);
}

}  // namespace group_norm_pixels
}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
