#include "core/tensor/tensor.h"
#include "cpu/rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// [batch, channels, area]: a channel is `batch` runs of `area` elements.
struct Images {
  int64_t batch, channels, area;
  explicit Images(const Tensor& input)
      : batch(input.sizes()[0]), channels(input.sizes()[1]), area(input.sizes()[2]) {}
  int64_t run(int64_t n, int64_t c) const { return (n * channels + c) * area; }
  int64_t count() const { return batch * area; }
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

/// Works on channels [begin, end): with a long area channel by channel, where the runs of a channel
/// stay in the second-level cache from pass to pass.
template <class Body>
void for_channels(const Images& images, int64_t cost, const Body& body) {
  for_rows(images.channels, images.count(), cost, body);
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
      PairwiseSum<C> sum, squares;
      for (int64_t n = 0; n < images.batch; ++n) {
        const C* x = buffer.load(in + images.run(n, c), images.area);
        sum.add(sum_terms<C>(images.area, [=](int64_t i) { return x[i]; }));
      }
      const C mean = sum.result() / count;
      for (int64_t n = 0; n < images.batch; ++n) {
        const C* x = buffer.load(in + images.run(n, c), images.area);
        squares.add(
            sum_terms<C>(images.area, [=](int64_t i) { return (x[i] - mean) * (x[i] - mean); }));
      }
      const C variance = squares.result() / count;
      const C scale = math::rsqrt(variance + static_cast<C>(eps));
      averages[c] = mean;
      rstds[c] = scale;
      means[static_cast<size_t>(c)] = mean;
      unbiased[static_cast<size_t>(c)] = squares.result() / std::max(count - 1, C(1));
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
  PairwiseSum<C> sums, products;
  for (int64_t n = 0; n < images.batch; ++n) {
    const C* x = buffer.load(in + images.run(n, c), images.area);
    const C* g = grads.load(grad + images.run(n, c), images.area);
    C sum, dot;
    sum_pairs<C>(images.area, sum, dot, [=](int64_t i, C& a, C& b) {
      a += g[i];
      b += g[i] * (x[i] - mean);
    });
    sums.add(sum);
    products.add(dot);
  }
  total = sums.result();
  product = products.result();
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

/// Fully connected layers have an area of 1: their columns are turned into runs first.
Tensor channels_as_runs(const Tensor& tensor) {
  if (tensor.sizes()[2] != 1 || tensor.sizes()[0] == 1) return tensor;
  const Shape& strides = tensor.strides();
  return contiguous_data(make_view(tensor, Shape{1, tensor.sizes()[1], tensor.sizes()[0]},
                                   Shape{0, strides[1], strides[0]}, tensor.offset()));
}

/// Runs compute(result, tensors...) on [batch, channels, area], through transposed copies when the
/// area is 1.
template <class Run>
void with_runs(const Tensor& result, const Tensor& input, const Run& run) {
  if (input.sizes()[2] != 1 || input.sizes()[0] == 1) return run(result);
  const int64_t batch = input.sizes()[0], channels = input.sizes()[1];
  const Tensor turned = empty(Shape{1, channels, batch}, result.dtype(), result.device());
  run(turned);
  copy_data(result,
            make_view(turned, Shape{batch, channels, 1}, Shape{1, batch, 1}, turned.offset()));
}

}  // namespace

void batch_norm_train(const Tensor& result, const Tensor& average, const Tensor& rstd,
                      const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Tensor& running_mean, const Tensor& running_var, double momentum,
                      double eps) {
  const Tensor runs = channels_as_runs(input);
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    with_runs(result, input, [&](const Tensor& out) {
      forward<T>(out, average, rstd, runs, weight, bias, running_mean, running_var, momentum, eps);
    });
  });
}
void batch_norm_input_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                           const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  const Tensor runs = channels_as_runs(input), grads = channels_as_runs(grad_output);
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    with_runs(result, input,
              [&](const Tensor& out) { input_grad<T>(out, grads, runs, weight, average, rstd); });
  });
}
void batch_norm_weight_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                            const Tensor& average, const Tensor& rstd) {
  const Tensor runs = channels_as_runs(input), grads = channels_as_runs(grad_output);
  with_floating(input.dtype(), "batch_norm",
                [&]<class T>() { weight_grad<T>(result, grads, runs, average, rstd); });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
