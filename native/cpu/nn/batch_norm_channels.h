#pragma once

/// What batch normalization of any layout shares: where channels lie, their parameters, their
/// running statistics.

#include <vector>

#include "core/tensor/tensor.h"
#include "cpu/math.h"
#include "cpu/rows.h"

#include "core/math/powers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// [batch, channels, area]: a channel is `batch` runs of `area` elements.
struct Images {
  int64_t batch, channels, area;
  explicit Images(const Tensor& input)
      : batch(input.sizes()[0]), channels(input.sizes()[1]), area(input.sizes()[2]) {}
  int64_t run(int64_t n, int64_t c) const { return (n * channels + c) * area; }
  int64_t count() const { return batch * area; }
  /// How many channels, columns of an area of 1, or runs have so many elements.
  int64_t channels_in(int64_t elements) const { return elements / std::max<int64_t>(1, count()); }
  int64_t runs_in(int64_t elements) const { return elements / std::max<int64_t>(1, area); }
};

/// Element c of an optional vector of parameters, in the type C.
template <class C>
class ChannelValues {
 public:
  ChannelValues(const Tensor& tensor, int64_t channels) {
    if (!tensor.defined()) return;
    check(tensor.numel() == channels, ErrorKind::runtime, "batch_norm: expected ", channels,
          " numbers, one per channel, got shape ", tensor.sizes());
    dense_ = contiguous_data(cast_data(tensor, dtype_of<C>));
    data_ = dense_.data<C>();
  }
  explicit operator bool() const { return data_ != nullptr; }
  C at(int64_t c, C otherwise) const { return data_ ? data_[c] : otherwise; }

 private:
  Tensor dense_;
  const C* data_ = nullptr;
};

/// Adds term(i, first, second) for i in [0, count) to kFewLanes lanes of both; the last ones of a
/// count that no lanes divide overlap those before, where they add nothing.
template <class C, class Term>
FLAMBEAU_INLINE void add_to_lanes(int64_t count, C* first, C* second, const Term& term) {
  constexpr int kLanes = kFewLanes<C>;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
#pragma omp simd
    for (int j = 0; j < kLanes; ++j) term(i + j, first[j], second[j]);
  }
  const int counted = kLanes - static_cast<int>(count - whole);
  if (counted == kLanes) return;
#pragma omp simd
  for (int j = 0; j < kLanes; ++j) {
    C a = 0, b = 0;
    term(count - kLanes + j, a, b);
    first[j] += j >= counted ? a : C(0);
    second[j] += j >= counted ? b : C(0);
  }
}

/// running = (1 - momentum) running + momentum value, in the dtype of `running`.
template <class C>
void update(const Tensor& running, const std::vector<C>& values, double momentum) {
  if (!running.defined()) return;
  const int64_t channels = static_cast<int64_t>(values.size());
  check(running.numel() == channels && running.dim() == 1, ErrorKind::runtime,
        "batch_norm: expected running statistics of shape [", channels, "], got ", running.sizes());
  const Tensor current = cast_data(running, dtype_of<C>);
  const Tensor next = empty(running.sizes(), dtype_of<C>, running.device());
  const int64_t step = current.strides()[0];
  for (int64_t c = 0; c < channels; ++c) {
    const C old = current.data<C>()[c * step];
    next.data<C>()[c] = old + static_cast<C>(momentum) * (values[static_cast<size_t>(c)] - old);
  }
  copy_data(running, next);
  running.bump_version();
}

/// Statistics that are given, where there is no batch to take them of: elements become (x - mean)
/// factor + shift.
template <class C>
class GivenStatistics {
 public:
  GivenStatistics(int64_t channels, const Tensor& mean, const Tensor& var, const Tensor& weight,
                  const Tensor& bias, double eps)
      : means_(mean, channels),
        vars_(var, channels),
        weights_(weight, channels),
        biases_(bias, channels),
        eps_(static_cast<C>(eps)) {}
  void get(int64_t channel, C& mean, C& factor, C& shift) const {
    mean = means_.at(channel, 0);
    factor = math::rsqrt(vars_.at(channel, 1) + eps_) * weights_.at(channel, 1);
    shift = biases_.at(channel, 0);
  }

 private:
  ChannelValues<C> means_, vars_, weights_, biases_;
  C eps_;
};

/// The statistics of a batch, channel by channel, and what becomes of them.
template <class C>
class Statistics {
 public:
  Statistics(const Images& images, const Tensor& average, const Tensor& rstd, const Tensor& weight,
             const Tensor& bias, double eps)
      : count_(static_cast<C>(images.count())),
        eps_(static_cast<C>(eps)),
        weights_(weight, images.channels),
        biases_(bias, images.channels),
        averages_(average.data<C>()),
        rstds_(rstd.data<C>()),
        means_(static_cast<size_t>(images.channels)),
        unbiased_(means_) {}

  C count() const { return count_; }
  /// Keeps those of a channel, whose squared distances from the mean add up to `squares`.
  void set(int64_t channel, C mean, C squares) {
    averages_[channel] = mean;
    rstds_[channel] = math::rsqrt(squares / count_ + eps_);
    means_[static_cast<size_t>(channel)] = mean;
    unbiased_[static_cast<size_t>(channel)] = squares / std::max(count_ - 1, C(1));
  }
  /// Elements of a channel become (x - mean) factor + shift.
  void get(int64_t channel, C& mean, C& factor, C& shift) const {
    mean = averages_[channel];
    factor = rstds_[channel] * weights_.at(channel, 1);
    shift = biases_.at(channel, 0);
  }
  void update_running(const Tensor& mean, const Tensor& var, double momentum) const {
    update(mean, means_, momentum);
    update(var, unbiased_, momentum);
  }

 private:
  C count_, eps_;
  ChannelValues<C> weights_, biases_;
  C *averages_, *rstds_;
  std::vector<C> means_, unbiased_;
};

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
