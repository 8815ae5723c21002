#include "cpu/channels_last.h"
#include "cpu/nn/batch_norm_columns.h"
#include "cpu/nn/batch_norm_pixels.h"
#include "cpu/nn/normal_rows.h"

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

/// Channels that are worked on together: their runs of one image lie together, and those of all
/// images stay in the second-level cache from pass to pass.
constexpr int64_t kMostChannels = 32;

/// Two sums over the runs of each of some channels: load(n, c) gives the term of a run, which adds
/// element i to both, and sum_run(n, c, a, b) those of all its elements. Lanes of short runs are
/// emptied after some of them only.
template <class C, class Load, class Run>
void sum_runs(const Images& images, int64_t channels, C* first, C* second, const Load& load,
              const Run& sum_run) {
  constexpr int64_t kLanes = kFewLanes<C>;
  const bool are_short = images.batch > 1 && images.area >= kLanes && images.area < 32 * kLanes;
  const int64_t together = are_short ? std::max<int64_t>(1, images.runs_in(64 * kLanes)) : 1;
  PairwiseSum<C> firsts[kMostChannels], seconds[kMostChannels];
  C a[kMostChannels][kLanes], b[kMostChannels][kLanes];
  for (int64_t n = 0; n < images.batch; n += together) {
    std::fill_n(*a, channels * kLanes, C(0));
    std::fill_n(*b, channels * kLanes, C(0));
    for (int64_t run = n; run < std::min(n + together, images.batch); ++run)
      for (int64_t c = 0; c < channels; ++c) {
        if (are_short) {
          add_to_lanes(images.area, a[c], b[c], load(run, c));
        } else {
          sum_run(run, c, *a[c], *b[c]);
        }
      }
    for (int64_t c = 0; c < channels; ++c) {
      if (are_short) {
        add_halves<kLanes / 2>(a[c]);
        add_halves<kLanes / 2>(b[c]);
      }
      firsts[c].add(*a[c]);
      seconds[c].add(*b[c]);
    }
  }
  for (int64_t c = 0; c < channels; ++c) {
    first[c] = firsts[c].result();
    second[c] = seconds[c].result();
  }
}

template <class C, class Load>
void sum_runs(const Images& images, int64_t channels, C* first, C* second, const Load& load) {
  sum_runs(images, channels, first, second, load,
           [&](int64_t n, int64_t c, C& a, C& b) { sum_pairs<C>(images.area, a, b, load(n, c)); });
}

/// Asks for the run of a channel in the image behind image n: it lies too far away to be foreseen.
template <class T>
FLAMBEAU_INLINE void ask_for_next(const T* data, const Images& images, int64_t n, int64_t c) {
  fetch_ahead(data + images.run(n + 1, c), images.area);
}

/// Calls body(first channel, channels) for some at a time, on several threads.
template <class C, class Body>
void for_channels(const Images& images, int64_t cost, const Body& body) {
  constexpr int64_t kElements = 256 * 1024 / static_cast<int64_t>(sizeof(C));
  const int64_t together = std::clamp(images.channels_in(kElements), int64_t{1}, kMostChannels);
  for_rows(images.channels, images.count(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c += together) body(c, std::min(together, end - c));
  });
}

template <class T>
void forward(const Tensor& result, const Tensor& average, const Tensor& rstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
             const Tensor& running_var, double momentum, double eps) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input);
  const T* in = dense.data<T>();
  T* out = result.data<T>();
  Statistics<C> statistics(images, average, rstd, weight, bias, eps);
  for_channels<C>(images, 3, [&](int64_t first, int64_t channels) {
    RowBuffer<T> buffer(images.area);
    C mean[kMostChannels], squares[kMostChannels], none[kMostChannels];
    sum_runs(images, channels, mean, none, [&](int64_t n, int64_t c) {
      ask_for_next(in, images, n, first + c);
      const C* x = buffer.load(in + images.run(n, first + c), images.area);
      return [x](int64_t i, C& a, C&) { a += x[i]; };
    });
    for (int64_t c = 0; c < channels; ++c) mean[c] /= statistics.count();
    sum_runs(images, channels, squares, none, [&](int64_t n, int64_t c) {
      const C* x = buffer.load(in + images.run(n, first + c), images.area);
      return [x, middle = mean[c]](int64_t i, C& a, C&) { a += (x[i] - middle) * (x[i] - middle); };
    });
    C factor[kMostChannels], shift[kMostChannels];
    for (int64_t c = 0; c < channels; ++c) {
      statistics.set(first + c, mean[c], squares[c]);
      statistics.get(first + c, mean[c], factor[c], shift[c]);
    }
    for (int64_t n = 0; n < images.batch; ++n)
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t place = images.run(n, first + c);
        scale_row(out + place, in + place, images.area, mean[c], factor[c], shift[c]);
      }
  });
  statistics.update_running(running_mean, running_var, momentum);
}

/// sum(grad) and sum(grad (x - mean)) of some channels.
template <class T, class C>
void channel_sums(const Images& images, const T* in, const T* grad, int64_t first, int64_t channels,
                  const ChannelValues<C>& averages, RowBuffer<T>& buffer, RowBuffer<T>& grads,
                  C* totals, C* products) {
  const auto load = [&](int64_t n, int64_t c) {
    ask_for_next(in, images, n, first + c);
    ask_for_next(grad, images, n, first + c);
    const C* x = buffer.load(in + images.run(n, first + c), images.area);
    const C* g = grads.load(grad + images.run(n, first + c), images.area);
    return [x, g, mean = averages.at(first + c, 0)](int64_t i, C& a, C& b) {
      a += g[i];
      b += g[i] * (x[i] - mean);
    };
  };
  sum_runs(images, channels, totals, products, load, [&](int64_t n, int64_t c, C& a, C& b) {
    const int64_t run = images.run(n, first + c);
    C sums[2];
    sum_grads(in + run, grad + run, images.area, averages.at(first + c, 0), sums);
    a = sums[0];
    b = sums[1];
  });
}

template <class T>
void gradients(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
               const Tensor& grad_output, const Tensor& input, const Tensor& weight,
               const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const ChannelValues<C> weights(weight, images.channels);
  const ChannelValues<C> averages(average, images.channels), rstds(rstd, images.channels);
  const T *in = dense.data<T>(), *grad = dense_grad.data<T>();
  T* const out = input_grad.data<T>();
  const C count = static_cast<C>(images.count());
  for_channels<C>(images, 4, [&](int64_t first, int64_t channels) {
    RowBuffer<T> buffer(images.area), grads(images.area);
    C sums[kMostChannels], products[kMostChannels];
    channel_sums(images, in, grad, first, channels, averages, buffer, grads, sums, products);
    for (int64_t c = 0; c < channels; ++c) {
      weight_grad.data<C>()[first + c] = products[c] * rstds.at(first + c, 1);
      bias_grad.data<C>()[first + c] = sums[c];
    }
    C mean[kMostChannels], factor[kMostChannels];
    for (int64_t c = 0; c < channels; ++c) {
      const C scale = rstds.at(first + c, 1);
      mean[c] = averages.at(first + c, 0);
      factor[c] = scale * weights.at(first + c, 1);
      sums[c] *= factor[c] / count;
      products[c] *= factor[c] * scale * scale / count;
    }
    for (int64_t n = 0; n < images.batch; ++n)
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t place = images.run(n, first + c);
        grad_run(out + place, in + place, grad + place, images.area, mean[c], factor[c], sums[c],
                 products[c]);
      }
  });
}

template <class T>
void apply(const Tensor& result, const Tensor& input, const GivenStatistics<Compute<T>>& given) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input);
  const T* in = dense.data<T>();
  T* const out = result.data<T>();
  for_rows(images.batch * images.channels, images.area, 2, [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      C mean, factor, shift;
      given.get(run % images.channels, mean, factor, shift);
      scale_row(out + run * images.area, in + run * images.area, images.area, mean, factor, shift);
    }
  });
}

template <class T>
void sums(const Tensor& grad_sums, const Tensor& product_sums, const Tensor& grad_output,
          const Tensor& input, const ChannelValues<Compute<T>>& averages) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  for_channels<C>(images, 2, [&](int64_t first, int64_t channels) {
    RowBuffer<T> buffer(images.area), grads(images.area);
    channel_sums(images, dense.data<T>(), dense_grad.data<T>(), first, channels, averages, buffer,
                 grads, grad_sums.data<C>() + first, product_sums.data<C>() + first);
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
    if (!result.is_contiguous())
      return batch_norm_pixels::forward<T>(pixel_rows(result), average, rstd, pixel_rows(input),
                                           weight, bias, running_mean, running_var, momentum, eps);
    const auto run = has_columns(input) ? columns : &forward<T>;
    run(result, average, rstd, input, weight, bias, running_mean, running_var, momentum, eps);
  });
}
void batch_norm_grad(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
                     const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                     const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    constexpr auto columns = &batch_norm_columns::gradients<T>;
    if (!input_grad.is_contiguous())
      return batch_norm_pixels::gradients<T>(pixel_rows(input_grad), weight_grad, bias_grad,
                                             pixel_rows(grad_output), pixel_rows(input), weight,
                                             average, rstd);
    const auto run = has_columns(input) ? columns : &gradients<T>;
    run(input_grad, weight_grad, bias_grad, grad_output, input, weight, average, rstd);
  });
}
void batch_norm_apply(const Tensor& result, const Tensor& input, const Tensor& running_mean,
                      const Tensor& running_var, const Tensor& weight, const Tensor& bias,
                      double eps) {
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    const GivenStatistics<Compute<T>> given(input.sizes()[1], running_mean, running_var, weight,
                                            bias, eps);
    if (!result.is_contiguous() || has_columns(input))
      return batch_norm_pixels::apply<T>(pixel_rows(result), pixel_rows(input), given);
    apply<T>(result, input, given);
  });
}
void batch_norm_sums(const Tensor& grads, const Tensor& products, const Tensor& grad_output,
                     const Tensor& input, const Tensor& average) {
  with_floating(input.dtype(), "batch_norm", [&]<class T>() {
    const ChannelValues<Compute<T>> averages(average, input.sizes()[1]);
    if (is_pixel_rows(input) || has_columns(input))
      return batch_norm_pixels::sums<T>(grads, products, pixel_rows(grad_output), pixel_rows(input),
                                        averages);
    sums<T>(grads, products, grad_output, input, averages);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
