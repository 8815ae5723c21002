/// Softmax, norms, scans and extreme elements against plain loops in double.

#include <algorithm>
#include <optional>

#include "check.h"
#include "core/tensor/tensor.h"
#include "cpu/blocks.h"
#include "cpu/loops.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

void softmax_forward(const Tensor& result, const Tensor& self, Dim dim);
void log_softmax_forward(const Tensor& result, const Tensor& self, Dim dim);
void softmax_grad(const Tensor& result, const Tensor& grad, const Tensor& output, Dim dim);
void log_softmax_grad(const Tensor& result, const Tensor& grad, const Tensor& output, Dim dim);
void layer_norm_forward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&, double);
void layer_norm_input_grad(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, const Tensor&);
void layer_norm_grad(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                     const Tensor&, const Tensor&, const Tensor&);
void batch_norm_train(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const Tensor&, const Tensor&, const Tensor&, double, double);
void batch_norm_grad(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                     const Tensor&, const Tensor&, const Tensor&);
void cumsum(const Tensor&, const Tensor&, Dim, std::optional<DType>);
void cumprod(const Tensor&, const Tensor&, Dim, std::optional<DType>);
void max_dim(const Tensor&, const Tensor&, const Tensor&, Dim, bool);
void argmin(const Tensor&, const Tensor&, const std::optional<Dim>&, bool);

namespace {

Dim dim_of(IntList sizes, int64_t dim) {
  return Dim(dim, static_cast<int64_t>(sizes.size()), {"test", "dim"});
}

template <class T>
Tensor random(const Shape& sizes, uint32_t seed, double low = -2, double high = 2) {
  const Tensor tensor = empty(sizes, dtype_of<T>, Device{});
  uint32_t state = seed;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    tensor.data<T>()[i] = T(static_cast<float>(low + (high - low) * (state >> 8) * 0x1p-24));
  }
  return tensor;
}
template <class T>
double value(const Tensor& tensor, int64_t i) {
  return static_cast<double>(static_cast<Compute<T>>(tensor.data<T>()[i]));
}
template <class T>
double tolerance() {
  return sizeof(T) == 8 ? 1e-13 : sizeof(T) == 4 ? 1e-5 : 2e-2;
}
/// Worst difference from expected(i), relative to 1 + |expected|.
template <class T, class Expected>
void check_all(const Tensor& tensor, const Expected& expected, double allowed = tolerance<T>()) {
  double worst = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double e = expected(i), v = value<T>(tensor, i);
    const double error = v == e ? 0 : std::fabs(v - e) / (1 + std::fabs(e));
    if (!(error <= worst)) worst = error;
  }
  CHECK_CLOSE(worst, 0, allowed);
}
/// In which statistics and gradients of parameters are.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void check_softmax(const Shape& sizes, int64_t given) {
  const Dim dim = dim_of(sizes, given);
  const Tensor x = random<T>(sizes, 1, -6, 6), g = random<T>(sizes, 2);
  const DimBlocks b(sizes, dim);
  const auto place = [&](int64_t i) {
    return i % b.inner + i / (b.inner * b.size) * b.inner * b.size;
  };
  const auto fold = [&](int64_t i, const auto& term) {
    double sum = 0;
    for (int64_t k = 0; k < b.size; ++k) sum += term(place(i) + k * b.inner);
    return sum;
  };
  const Tensor out = empty(sizes, dtype_of<T>, Device{}),
               back = empty(sizes, dtype_of<T>, Device{});
  const auto sum_exp = [&](int64_t i) {
    return fold(i, [&](int64_t k) { return std::exp(value<T>(x, k)); });
  };
  softmax_forward(out, x, dim);
  check_all<T>(out, [&](int64_t i) { return std::exp(value<T>(x, i)) / sum_exp(i); });
  softmax_grad(back, g, out, dim);
  check_all<T>(back, [&](int64_t i) {
    const double dot = fold(i, [&](int64_t k) { return value<T>(g, k) * value<T>(out, k); });
    return value<T>(out, i) * (value<T>(g, i) - dot);
  });
  log_softmax_forward(out, x, dim);
  check_all<T>(out, [&](int64_t i) { return value<T>(x, i) - std::log(sum_exp(i)); });
  log_softmax_grad(back, g, out, dim);
  check_all<T>(back, [&](int64_t i) {
    const double sum = fold(i, [&](int64_t k) { return value<T>(g, k); });
    return value<T>(g, i) - std::exp(value<T>(out, i)) * sum;
  });
}
TEST(softmax) {
  for (const int64_t dim : {0, 1, 2, -1}) {
    check_softmax<float>({3, 70, 33}, dim);
    check_softmax<double>({3, 70, 5}, dim);
    check_softmax<float16>({4, 9, 33}, dim);
    check_softmax<bfloat16>({4, 9, 33}, dim);
  }
  check_softmax<float>({2, 5, 700}, 1);
  check_softmax<float>({1000}, 0);
  check_softmax<float>({}, 0);
}
TEST(softmax_of_infinities) {
  const Tensor x = random<float>({4}, 1), out = empty(Shape{4}, DType::float32, Device{});
  x.data<float>()[1] = -INFINITY;
  softmax_forward(out, x, dim_of(x.sizes(), 0));
  CHECK(out.data<float>()[1] == 0);
  x.data<float>()[2] = NAN;
  softmax_forward(out, x, dim_of(x.sizes(), 0));
  CHECK(std::isnan(out.data<float>()[0]));
}

/// Statistics of groups: element i belongs to group(i).
struct Groups {
  std::vector<double> mean, variance;
  template <class T, class Group>
  Groups(const Tensor& x, int64_t count, const Group& group, T*) : mean(count), variance(count) {
    std::vector<int64_t> sizes(static_cast<size_t>(count));
    for (int64_t i = 0; i < x.numel(); ++i) {
      mean[group(i)] += value<T>(x, i);
      ++sizes[group(i)];
    }
    for (size_t k = 0; k < mean.size(); ++k) mean[k] /= static_cast<double>(sizes[k]);
    for (int64_t i = 0; i < x.numel(); ++i)
      variance[group(i)] += std::pow(value<T>(x, i) - mean[group(i)], 2);
    for (size_t k = 0; k < mean.size(); ++k) variance[k] /= static_cast<double>(sizes[k]);
  }
};

/// Checks a norm whose element i belongs to group(i) and has parameter(i).
template <class T, class Group, class Parameter, class Forward, class Backward>
void check_norm(const Shape& sizes, int64_t groups, int64_t parameters, const Group& group,
                const Parameter& parameter, const Shape& statistics, const Forward& forward,
                const Backward& backward) {
  const DType wide = promote(dtype_of<T>, DType::float32);
  const Tensor x = random<T>(sizes, 1, 1, 3), g = random<T>(sizes, 5);
  const Tensor w = random<T>({parameters}, 2), b = random<T>({parameters}, 3);
  const Tensor out = empty(sizes, dtype_of<T>, Device{}),
               back = empty(sizes, dtype_of<T>, Device{});
  const Tensor mean = empty(statistics, wide, Device{}), rstd = empty(statistics, wide, Device{});
  const double eps = 1e-3;
  forward(out, mean, rstd, x, w, b, eps);
  const Groups s(x, groups, group, static_cast<T*>(nullptr));
  const auto scale = [&](int64_t i) { return 1 / std::sqrt(s.variance[group(i)] + eps); };
  const auto normal = [&](int64_t i) { return (value<T>(x, i) - s.mean[group(i)]) * scale(i); };
  check_all<T>(out, [&](int64_t i) {
    return normal(i) * value<T>(w, parameter(i)) + value<T>(b, parameter(i));
  });
  const Tensor grad_weight = empty(Shape{parameters}, wide, Device{});
  backward(back, grad_weight, g, x, w, mean, rstd);
  std::vector<double> sum(static_cast<size_t>(groups)), dot(sum);
  std::vector<double> weights(static_cast<size_t>(parameters));
  const double count = static_cast<double>(x.numel() / groups);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double a = value<T>(g, i) * value<T>(w, parameter(i));
    sum[group(i)] += a / count;
    dot[group(i)] += a * normal(i) / count;
    weights[parameter(i)] += value<T>(g, i) * normal(i);
  }
  check_all<T>(back, [&](int64_t i) {
    const double a = value<T>(g, i) * value<T>(w, parameter(i));
    return scale(i) * (a - sum[group(i)] - normal(i) * dot[group(i)]);
  });
  const auto weight_of = [&](int64_t i) { return weights[i]; };
  check_all<Wide<T>>(grad_weight, weight_of, tolerance<T>());
  // Without parameters.
  forward(out, mean, rstd, x, Tensor(), Tensor(), eps);
  check_all<T>(out, normal);
}

template <class T>
void check_layer_norm(int64_t rows, int64_t n) {
  check_norm<T>(
      {rows, n}, rows, n, [=](int64_t i) { return i / n; }, [=](int64_t i) { return i % n; },
      {rows, 1}, &layer_norm_forward,
      [](const Tensor& input_grad, const Tensor& weight_grad, const Tensor& g, const Tensor& x,
         const Tensor& w, const Tensor& mean, const Tensor& rstd) {
        const Tensor bias_grad = empty(weight_grad.sizes(), weight_grad.dtype(), Device{});
        layer_norm_grad(input_grad, weight_grad, bias_grad, g, x, w, mean, rstd);
        const int64_t n = x.sizes()[1];
        std::vector<double> sums(static_cast<size_t>(n));
        for (int64_t i = 0; i < g.numel(); ++i) sums[i % n] += value<T>(g, i);
        check_all<Wide<T>>(bias_grad, [&](int64_t i) { return sums[i]; });
        const Tensor alone = empty(x.sizes(), x.dtype(), Device{});
        layer_norm_input_grad(alone, g, x, w, mean, rstd);
        check_all<T>(alone, [&](int64_t i) { return value<T>(input_grad, i); });
      });
}
TEST(layer_norm) {
  for (const auto& [rows, n] :
       {std::pair<int64_t, int64_t>{1, 7}, {5, 64}, {33, 100}, {700, 17}, {3, 5000}}) {
    check_layer_norm<float>(rows, n);
    check_layer_norm<double>(rows, n);
  }
  check_layer_norm<float16>(9, 50);
  check_layer_norm<bfloat16>(9, 50);
}

template <class T>
void check_batch_norm(int64_t batch, int64_t channels, int64_t area) {
  const auto channel = [=](int64_t i) { return i / area % channels; };
  check_norm<T>(
      {batch, channels, area}, channels, channels, channel, channel, {1, channels, 1},
      [](const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
         const Tensor& w, const Tensor& b,
         double eps) { batch_norm_train(out, mean, rstd, x, w, b, Tensor(), Tensor(), 0.1, eps); },
      [](const Tensor& input_grad, const Tensor& weight_grad, const Tensor& g, const Tensor& x,
         const Tensor& w, const Tensor& mean, const Tensor& rstd) {
        const Tensor bias_grad = empty(weight_grad.sizes(), weight_grad.dtype(), Device{});
        batch_norm_grad(input_grad, weight_grad, bias_grad, g, x, w, mean, rstd);
        const int64_t channels = x.sizes()[1], area = x.sizes()[2];
        std::vector<double> sums(static_cast<size_t>(channels));
        for (int64_t i = 0; i < g.numel(); ++i) sums[i / area % channels] += value<T>(g, i);
        check_all<Wide<T>>(bias_grad, [&](int64_t i) { return sums[i]; });
      });
}
TEST(batch_norm) {
  for (const auto& [batch, channels, area] :
       {std::array<int64_t, 3>{4, 3, 25}, {16, 5, 1}, {1, 3, 100}, {33, 2, 700}, {2, 70, 3}}) {
    check_batch_norm<float>(batch, channels, area);
    check_batch_norm<double>(batch, channels, area);
  }
  check_batch_norm<bfloat16>(3, 4, 20);
}
TEST(running_statistics) {
  const Tensor x = random<float>({4, 3, 5}, 9), mean = random<float>({3}, 1);
  const Tensor variance = random<float>({3}, 2, 1, 2);
  const std::vector<float> old_mean(mean.data<float>(), mean.data<float>() + 3);
  const std::vector<float> old_variance(variance.data<float>(), variance.data<float>() + 3);
  const Tensor out = empty(x.sizes(), DType::float32, Device{});
  const Tensor a = empty(Shape{1, 3, 1}, DType::float32, Device{}),
               r = empty(Shape{1, 3, 1}, DType::float32, Device{});
  const uint32_t version = mean.version();
  batch_norm_train(out, a, r, x, Tensor(), Tensor(), mean, variance, 0.25, 1e-5);
  const Groups s(
      x, 3, [](int64_t i) { return i / 5 % 3; }, static_cast<float*>(nullptr));
  for (size_t c = 0; c < 3; ++c) {
    CHECK_CLOSE(mean.data<float>()[c], 0.75 * old_mean[c] + 0.25 * s.mean[c], 1e-6);
    CHECK_CLOSE(variance.data<float>()[c], 0.75 * old_variance[c] + 0.25 * s.variance[c] * 20 / 19,
                1e-6);
  }
  CHECK(mean.version() != version && variance.version() != 0);
}

template <class T>
void check_scans(const Shape& sizes, int64_t given) {
  const Dim dim = dim_of(sizes, given);
  const Tensor x = random<T>(sizes, 3, 0.5, 1.5), out = empty(sizes, dtype_of<T>, Device{});
  const DimBlocks b(sizes, dim);
  std::vector<double> sums(static_cast<size_t>(x.numel())), products(sums);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const bool first = i / b.inner % b.size == 0;
    sums[i] = (first ? 0 : sums[i - b.inner]) + value<T>(x, i);
    products[i] = (first ? 1 : products[i - b.inner]) * value<T>(x, i);
  }
  cumsum(out, x, dim, std::nullopt);
  check_all<T>(out, [&](int64_t i) { return sums[i]; });
  cumprod(out, x, dim, std::nullopt);
  check_all<T>(out, [&](int64_t i) { return products[i]; });
}
TEST(scans) {
  for (const int64_t dim : {0, 1, 2}) {
    check_scans<float>({7, 40, 30}, dim);
    check_scans<double>({7, 40, 30}, dim);
    check_scans<bfloat16>({7, 4, 3}, dim);
  }
  check_scans<float>({2, 3, 600}, 1);
  check_scans<int64_t>({6, 5, 4}, 1);
}

template <class T>
void check_extremes(const Tensor& x, int64_t given) {
  const Dim dim = dim_of(x.sizes(), given);
  const DimBlocks b(x.sizes(), dim);
  const Shape flat{b.outer * b.inner};
  const Tensor values = empty(flat, dtype_of<T>, Device{}),
               places = empty(flat, DType::int64, Device{});
  const Tensor lowest = empty(flat, DType::int64, Device{});
  max_dim(values, places, x, dim, false);
  argmin(lowest, x, dim, false);
  int64_t wrong = 0;
  for (int64_t o = 0; o < b.outer * b.inner; ++o) {
    const int64_t start = o / b.inner * b.size * b.inner + o % b.inner;
    int64_t high = 0, low = 0;
    for (int64_t k = 1; k < b.size; ++k) {
      const double v = value<T>(x, start + k * b.inner);
      const double h = value<T>(x, start + high * b.inner), l = value<T>(x, start + low * b.inner);
      if (v > h || (v != v && h == h)) high = k;
      if (v < l || (v != v && l == l)) low = k;
    }
    wrong += places.data<int64_t>()[o] != high || lowest.data<int64_t>()[o] != low;
    const double v = value<T>(values, o), h = value<T>(x, start + high * b.inner);
    wrong += !(v == h || (v != v && h != h));
  }
  CHECK(wrong == 0);
}
TEST(extremes) {
  for (const Shape& sizes :
       {Shape{5, 300}, Shape{300, 5}, Shape{3, 40, 30}, Shape{1, 200000}, Shape{600, 700}})
    for (int64_t dim = 0; dim < static_cast<int64_t>(sizes.size()); ++dim) {
      const Tensor x = random<float>(sizes, 7);
      check_extremes<float>(x, dim);
      for (int64_t i = 100; i < x.numel(); i += 797) x.data<float>()[i] = NAN;
      check_extremes<float>(x, dim);
      check_extremes<float16>(random<float16>(sizes, 8), dim);
      check_extremes<double>(random<double>(sizes, 8), dim);
      check_extremes<int64_t>(random<int64_t>(sizes, 8, -3, 3), dim);
      check_extremes<int8_t>(random<int8_t>(sizes, 9, -3, 3), dim);
      check_extremes<bool>(random<bool>(sizes, 8, -1, 1), dim);
    }
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
