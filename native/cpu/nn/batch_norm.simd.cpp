#include "cpu/nn/batch_norm_columns.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Adds partial sums in pairs of equal weight.
template <class C>
class PairwiseSum {
 public:
  void add(C value) {
    ++count_;
    for (int64_t pairs = count_; pairs % 2 == 0; pairs /= 2) value += values_[--depth_];
    values_[depth_++] = value;
  }
  C result() const {
    C sum = 0;
    for (int i = depth_; i-- > 0;) sum += values_[i];
    return sum;
  }

 private:
  C values_[64];
  int depth_ = 0;
  int64_t count_ = 0;
};

/// Two sums over the runs of a channel: load(run) gives the term of one, which adds element i to
/// both. Lanes of short runs are emptied after some of them only.
template <class C, class Load>
void sum_runs(const Images& images, C& first, C& second, const Load& load) {
  constexpr int64_t kLanes = kFewLanes<C>;
  const bool are_short = images.area >= kLanes && images.area < 32 * kLanes;
  const int64_t together = are_short ? std::max<int64_t>(1, 64 * kLanes / images.area) : 1;
  PairwiseSum<C> firsts, seconds;
  for (int64_t n = 0; n < images.batch; n += together) {
    C a[kLanes] = {}, b[kLanes] = {};
    if (are_short) {
      for (int64_t run = n; run < std::min(n + together, images.batch); ++run)
        add_to_lanes(images.area, a, b, load(run));
      add_halves<kLanes / 2>(a);
      add_halves<kLanes / 2>(b);
    } else {
      sum_pairs<C>(images.area, *a, *b, load(n));
    }
    firsts.add(*a);
    seconds.add(*b);
  }
  first = firsts.result();
  second = seconds.result();
}

/// Works on channels [begin, end): with a long area channel by channel, where the runs of a channel
/// stay in the second-level cache from pass to pass.
template <class Body>
void for_channels(const Images& images, int64_t cost, const Body& body) {
  for_rows(images.channels, images.count(), cost, body);
}

template <class T>
void forward(const Tensor& result, const Tensor& average, const Tensor& rstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
             const Tensor& running_var, double momentum, double eps) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input);
  const ChannelValues<C> weights(weight, images.channels), biases(bias, images.channels);
  const T* in = dense.data<T>();
  T* out = result.data<T>();
  C *averages = average.data<C>(), *rstds = rstd.data<C>();
  std::vector<C> means(static_cast<size_t>(images.channels)), unbiased(means);
  const C count = static_cast<C>(images.count());
  for_channels(images, 3, [&](int64_t begin, int64_t end) {
    RowBuffer<T> buffer(images.area), target(images.area);
    for (int64_t c = begin; c < end; ++c) {
      C sum, squares, none;
      sum_runs(images, sum, none, [&](int64_t n) {
        const C* x = buffer.load(in + images.run(n, c), images.area);
        return [x](int64_t i, C& a, C&) { a += x[i]; };
      });
      const C mean = sum / count;
      sum_runs(images, squares, none, [&](int64_t n) {
        const C* x = buffer.load(in + images.run(n, c), images.area);
        return [x, mean](int64_t i, C& a, C&) { a += (x[i] - mean) * (x[i] - mean); };
      });
      const C variance = squares / count;
      const C scale = math::rsqrt(variance + static_cast<C>(eps));
      averages[c] = mean;
      rstds[c] = scale;
      means[static_cast<size_t>(c)] = mean;
      unbiased[static_cast<size_t>(c)] = squares / std::max(count - 1, C(1));
      const C factor = scale * weights.at(c, 1), shift = biases.at(c, 0);
      for (int64_t n = 0; n < images.batch; ++n) {
        const int64_t place = images.run(n, c);
        const C* x = buffer.load(in + place, images.area);
        C* y = target.target(out + place);
#pragma omp simd
        for (int64_t i = 0; i < images.area; ++i) y[i] = (x[i] - mean) * factor + shift;
        target.store(out + place, images.area);
      }
    }
  });
  update(running_mean, means, momentum);
  update(running_var, unbiased, momentum);
}

/// sum(grad) and sum(grad (x - mean)) of channel c.
template <class T, class C>
void channel_sums(const Images& images, const T* in, const T* grad, int64_t c, C mean,
                  RowBuffer<T>& buffer, RowBuffer<T>& grads, C& total, C& product) {
  sum_runs(images, total, product, [&](int64_t n) {
    const C* x = buffer.load(in + images.run(n, c), images.area);
    const C* g = grads.load(grad + images.run(n, c), images.area);
    return [x, g, mean](int64_t i, C& a, C& b) {
      a += g[i];
      b += g[i] * (x[i] - mean);
    };
  });
}

template <class T>
void input_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const ChannelValues<C> weights(weight, images.channels);
  const ChannelValues<C> averages(average, images.channels), rstds(rstd, images.channels);
  const T *in = dense.data<T>(), *grad = dense_grad.data<T>();
  T* out = result.data<T>();
  const C count = static_cast<C>(images.count());
  for_channels(images, 4, [&](int64_t begin, int64_t end) {
    RowBuffer<T> buffer(images.area), grads(images.area), target(images.area);
    for (int64_t c = begin; c < end; ++c) {
      const C mean = averages.at(c, 0), scale = rstds.at(c, 1);
      C sum, product;
      channel_sums(images, in, grad, c, mean, buffer, grads, sum, product);
      const C shift = sum / count, slope = product * scale * scale / count;
      const C factor = scale * weights.at(c, 1);
      for (int64_t n = 0; n < images.batch; ++n) {
        const int64_t place = images.run(n, c);
        const C* x = buffer.load(in + place, images.area);
        const C* g = grads.load(grad + place, images.area);
        C* y = target.target(out + place);
#pragma omp simd
        for (int64_t i = 0; i < images.area; ++i)
          y[i] = factor * (g[i] - shift - (x[i] - mean) * slope);
        target.store(out + place, images.area);
      }
    }
  });
}

template <class T>
void weight_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                 const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const ChannelValues<C> averages(average, images.channels), rstds(rstd, images.channels);
  const T *in = dense.data<T>(), *grad = dense_grad.data<T>();
  T* out = result.data<T>();
  for_channels(images, 2, [&](int64_t begin, int64_t end) {
    RowBuffer<T> buffer(images.area), grads(images.area);
    for (int64_t c = begin; c < end; ++c) {
      C sum, product;
      channel_sums(images, in, grad, c, averages.at(c, 0), buffer, grads, sum, product);
      out[c] = T(product * rstds.at(c, 1));
    }
  });
}

/// Fully connected layers have an area of 1: their channels are columns.
bool has_columns(const Tensor& input) { return input.sizes()[2] == 1 && input.sizes()[0] > 1; }

}  // namespace

void batch_norm_train(const Tensor& result, const Tensor& average, const Tensor& rstd,
                      const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Tensor& running_mean, const Tensor& running_var, double momentum,
                      double eps) {
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    constexpr auto columns = &batch_norm_columns::forward<T>;
    const auto run = has_columns(input) ? columns : &forward<T>;
    run(result, average, rstd, input, weight, bias, running_mean, running_var, momentum, eps);
  });
}
void batch_norm_input_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                           const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    constexpr auto columns = &batch_norm_columns::input_grad<T>;
    const auto run = has_columns(input) ? columns : &input_grad<T>;
    run(result, grad_output, input, weight, average, rstd);
  });
}
void batch_norm_weight_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                            const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    constexpr auto columns = &batch_norm_columns::weight_grad<T>;
    const auto run = has_columns(input) ? columns : &weight_grad<T>;
    run(result, grad_output, input, average, rstd);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
