#include "cpu/math.h"
#include "cpu/nn/normal_rows.h"
#include "cpu/short_sums.h"

#include "core/math/powers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// y = (x - mean) scale w + b
template <class T, bool has_weight, bool has_bias, class C = Compute<T>>
void normalize(T* y, const T* x, int64_t n, C mean, C scale, const C* w, const C* b) {
  const Vector<C> means = splat(mean), scales = splat(scale);
  for_vectors<C>(
      n,
      [=](int64_t i) {
        Vector<C> value = (load_wide(x + i) - means) * scales;
        if constexpr (has_weight) value *= load(w + i);
        if constexpr (has_bias) value += load(b + i);
        store_wide(y + i, value);
      },
      [=](int64_t i) {
        C value = (static_cast<C>(x[i]) - mean) * scale;
        if constexpr (has_weight) value *= w[i];
        if constexpr (has_bias) value += b[i];
        y[i] = T(value);
      });
}

template <class T>
void forward(const Tensor& result, const Tensor& average, const Tensor& rstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, double eps) {
  using C = Compute<T>;
  const int64_t rows = input.sizes()[0], n = input.sizes()[1];
  const Tensor dense = contiguous_data(input);
  const Tensor weights = values_in<C>(weight), biases = values_in<C>(bias);
  const T* in = dense.data<T>();
  T* out = result.data<T>();
  const C *w = data_of<C>(weights), *b = data_of<C>(biases);
  C *averages = average.data<C>(), *rstds = rstd.data<C>();
  for_rows(rows, n, 3, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = in + r * n;
      const C mean = row_mean(x, n);
      const C scale = math::rsqrt(row_variance(x, n, mean) + static_cast<C>(eps));
      averages[r] = mean;
      rstds[r] = scale;
      if (w && b) {
        normalize<T, true, true>(out + r * n, x, n, mean, scale, w, b);
      } else if (w) {
        normalize<T, true, false>(out + r * n, x, n, mean, scale, w, b);
      } else if (b) {
        normalize<T, false, true>(out + r * n, x, n, mean, scale, w, b);
      } else {
        normalize<T, false, false>(out + r * n, x, n, mean, scale, w, b);
      }
    }
  });
}

/// The gradient of one row: rstd (a - mean(a) - xhat mean(a xhat)), with a = grad weight and
/// xhat = (x - average) rstd. Adds grad xhat and grad to `sums`, n of each, where those are wanted.
template <class T, bool has_weight, bool has_sums, class C = Compute<T>>
void grad_row(T* y, const T* x, const T* g, int64_t n, C mean, C scale, const C* w, C* sums) {
  const Vector<C> means = splat(mean), scales = splat(scale);
  const auto weighted_vector = [=](int64_t i) {
    const Vector<C> grads = load_wide(g + i);
    return has_weight ? grads * load(w + i) : grads;
  };
  const auto weighted = [=](int64_t i) {
    const C value = static_cast<C>(g[i]);
    return has_weight ? value * w[i] : value;
  };
  C moments[2];
  sum_rows<has_sums>(
      n, moments,
      [=](int64_t i, Vector<C>* to) {
        const Vector<C> a = weighted_vector(i), far = load_wide(x + i) - means;
        to[0] += a;
        to[1] += a * far;
        if constexpr (has_sums) {
          const Vector<C> grads = load_wide(g + i);
          store(sums + i, load(sums + i) + grads * (far * scales));
          store(sums + n + i, load(sums + n + i) + grads);
        }
      },
      [=](int64_t i, C* to) {
        const C a = weighted(i), far = static_cast<C>(x[i]) - mean;
        to[0] += a;
        to[1] += a * far;
        if constexpr (has_sums) {
          sums[i] += static_cast<C>(g[i]) * (far * scale);
          sums[n + i] += static_cast<C>(g[i]);
        }
      });
  const C shift = moments[0] / C(n), slope = moments[1] * scale * scale / C(n);
  const Vector<C> shifts = splat(shift), slopes = splat(slope);
  for_vectors<C>(
      n,
      [=](int64_t i) {
        store_wide(y + i,
                   scales * (weighted_vector(i) - shifts - (load_wide(x + i) - means) * slopes));
      },
      [=](int64_t i) {
        y[i] = T(scale * (weighted(i) - shift - (static_cast<C>(x[i]) - mean) * slope));
      });
}

/// Dense rows of a gradient, of what was normalized, and their statistics.
template <class T, class C = Compute<T>>
struct GradRows {
  Tensor dense, dense_grad, weights, dense_average, dense_rstd;
  T* out;
  int64_t n;
  GradRows(const Tensor& result, const Tensor& grad_output, const Tensor& input,
           const Tensor& weight, const Tensor& average, const Tensor& rstd)
      : dense(contiguous_data(input)),
        dense_grad(contiguous_data(grad_output)),
        weights(values_in<C>(weight)),
        dense_average(values_in<C>(average)),
        dense_rstd(values_in<C>(rstd)),
        out(result.data<T>()),
        n(input.sizes()[1]) {}

  template <bool has_sums>
  void run(int64_t begin, int64_t end, C* sums) const {
    const C* const w = data_of<C>(weights);
    const auto row = w ? &grad_row<T, true, has_sums> : &grad_row<T, false, has_sums>;
    for (int64_t r = begin; r < end; ++r)
      row(out + r * n, dense.data<T>() + r * n, dense_grad.data<T>() + r * n, n,
          dense_average.data<C>()[r], dense_rstd.data<C>()[r], w, sums);
  }
};

/// Sums over rows: pieces of rows, whose number depends on the shape only, then the pieces in
/// pairs.
template <class T>
void grads(const GradRows<T>& rows, int64_t count, Compute<T>* weight_grad, Compute<T>* bias_grad) {
  using C = Compute<T>;
  const int64_t n = rows.n, width = 2 * n;
  const int64_t piece = std::max<int64_t>(64, (int64_t{1} << 17) / std::max<int64_t>(1, n));
  const int64_t pieces = std::max<int64_t>(1, (count + piece - 1) / piece);
  std::vector<C> partial(static_cast<size_t>(pieces * width), C(0));
  for_rows(pieces, piece * n, 4, [&](int64_t begin, int64_t end) {
    std::vector<C> part(static_cast<size_t>(width));
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p * piece;
      sum_in_parts(partial.data() + p * width, std::min(count - first, piece), width, part.data(),
                   [&](C* sums, int64_t from, int64_t to) {
                     rows.template run<true>(first + from, first + to, sums);
                   });
    }
  });
  for (int64_t step = 1; step < pieces; step *= 2)
    for (int64_t p = 0; p + step < pieces; p += 2 * step)
      for (int64_t i = p * width; i < (p + 1) * width; ++i)
        partial[static_cast<size_t>(i)] += partial[static_cast<size_t>(i + step * width)];
  std::copy_n(partial.data(), n, weight_grad);
  std::copy_n(partial.data() + n, n, bias_grad);
}

}  // namespace

void layer_norm_forward(const Tensor& result, const Tensor& average, const Tensor& rstd,
                        const Tensor& input, const Tensor& weight, const Tensor& bias, double eps) {
  with_floating(input.dtype(), "layer_norm",
                [&]<class T>() { forward<T>(result, average, rstd, input, weight, bias, eps); });
}
void layer_norm_input_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                           const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "layer_norm", [&]<class T>() {
    const GradRows<T> rows(result, grad_output, input, weight, average, rstd);
    for_rows(input.sizes()[0], rows.n, 4,
             [&](int64_t begin, int64_t end) { rows.template run<false>(begin, end, nullptr); });
  });
}
void layer_norm_grad(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
                     const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                     const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "layer_norm", [&]<class T>() {
    using C = Compute<T>;
    grads(GradRows<T>(input_grad, grad_output, input, weight, average, rstd), input.sizes()[0],
          weight_grad.data<C>(), bias_grad.data<C>());
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
