#pragma once

/// Batch normalization of images whose channels lie next to each other.
/// Include only from *.simd.cpp files.

#include "cpu/nn/batch_norm_channels.h"
#include "cpu/nn/pixel_columns.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {
namespace batch_norm_pixels {

/// All pixels of all images, [pixels, channels, 1], are of one sample.
inline Pixels pixels_of(const Tensor& rows) { return {1, rows.sizes()[0], rows.sizes()[1]}; }

template <class T>
void forward(const Tensor& result, const Tensor& average, const Tensor& rstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
             const Tensor& running_var, double momentum, double eps) {
  using C = Compute<T>;
  const Pixels pixels = pixels_of(input);
  Statistics<C> statistics(Images(input), average, rstd, weight, bias, eps);
  ColumnPairs<C> moments = moments_of(pixels, input.data<T>());
  std::vector<C> factors(pixels.columns()), shifts(factors);
  for (size_t c = 0; c < pixels.columns(); ++c) {
    const auto channel = static_cast<int64_t>(c);
    statistics.set(channel, moments.first[c], moments.second[c]);
    statistics.get(channel, moments.first[c], factors[c], shifts[c]);
  }
  scale_pixels(pixels, result.data<T>(), input.data<T>(), true, moments.first, factors, shifts);
  statistics.update_running(running_mean, running_var, momentum);
}

template <class T>
void gradients(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
               const Tensor& grad_output, const Tensor& input, const Tensor& weight,
               const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Pixels pixels = pixels_of(input);
  const ChannelValues<C> weights(weight, pixels.channels);
  const ChannelValues<C> averages(average, pixels.channels), rstds(rstd, pixels.channels);
  GradColumns<C> by(pixels.columns());
  for (size_t c = 0; c < pixels.columns(); ++c)
    by.mean[c] = averages.at(static_cast<int64_t>(c), 0);
  const ColumnPairs<C> sums =
      grad_sums_of(pixels, input.data<T>(), grad_output.data<T>(), by.mean, true);
  const C count = static_cast<C>(pixels.count());
  for (size_t c = 0; c < pixels.columns(); ++c) {
    const int64_t channel = static_cast<int64_t>(c);
    const C scale = rstds.at(channel, 1), factor = scale * weights.at(channel, 1);
    weight_grad.data<C>()[channel] = sums.second[c] * scale;
    bias_grad.data<C>()[channel] = sums.first[c];
    by.factor[c] = factor;
    by.shift[c] = factor * sums.first[c] / count;
    by.slope[c] = factor * sums.second[c] * scale * scale / count;
  }
  grade_pixels(pixels, input_grad.data<T>(), input.data<T>(), grad_output.data<T>(), true, by);
}

template <class T>
void apply(const Tensor& result, const Tensor& input, const GivenStatistics<Compute<T>>& given) {
  const Pixels pixels = pixels_of(input);
  std::vector<Compute<T>> means(pixels.columns()), factors(means), shifts(means);
  for (size_t c = 0; c < means.size(); ++c)
    given.get(static_cast<int64_t>(c), means[c], factors[c], shifts[c]);
  scale_pixels(pixels, result.data<T>(), input.data<T>(), true, means, factors, shifts);
}

template <class T>
void sums(const Tensor& grads, const Tensor& products, const Tensor& grad_output,
          const Tensor& input, const ChannelValues<Compute<T>>& averages) {
  using C = Compute<T>;
  const Pixels pixels = pixels_of(input);
  std::vector<C> means(pixels.columns());
  for (size_t c = 0; c < means.size(); ++c) means[c] = averages.at(static_cast<int64_t>(c), 0);
  const ColumnPairs<C> found =
      grad_sums_of(pixels, input.data<T>(), grad_output.data<T>(), means, true);
  std::copy(found.first.begin(), found.first.end(), grads.data<C>());
  std::copy(found.second.begin(), found.second.end(), products.data<C>());
}

}  // namespace batch_norm_pixels
}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
