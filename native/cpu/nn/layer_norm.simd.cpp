#include "core/tensor/tensor.h"
#include "cpu/nn/vector_rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Numbers of rows, or parameters, in the type that rows are computed in. Undefined stays so.
template <class C>
Tensor values_in(const Tensor& values) {
  return values.defined() ? contiguous_data(cast_data(values, dtype_of<C>)) : values;
}
template <class C>
const C* data_of(const Tensor& values) {
  return values.defined() ? values.data<C>() : nullptr;
}

template <class T>
Compute<T> row_mean(const T* x, int64_t n) {
  using C = Compute<T>;
  C sum[1];
  sum_rows(
      n, sum, [=](int64_t i, Vector<C>* to) { to[0] += load_wide(x + i); },
      [=](int64_t i, C* to) { to[0] += static_cast<C>(x[i]); });
  return sum[0] / C(n);
}

template <class T>
Compute<T> row_variance(const T* x, int64_t n, Compute<T> mean) {
  using C = Compute<T>;
  const Vector<C> means = splat(mean);
  C sum[1];
  sum_rows(
      n, sum,
      [=](int64_t i, Vector<C>* to) {
        const Vector<C> far = load_wide(x + i) - means;
        to[0] += far * far;
      },
      [=](int64_t i, C* to) {
        const C far = static_cast<C>(x[i]) - mean;
        to[0] += far * far;
      });
  return sum[0] / C(n);
}

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

/// rstd (a - mean(a) - xhat mean(a xhat)), with a = grad weight and xhat = (x - average) rstd.
template <class T, bool has_weight, class C = Compute<T>>
void input_grad_row(T* y, const T* x, const T* g, int64_t n, C mean, C scale, const C* w) {
  const Vector<C> means = splat(mean), scales = splat(scale);
  const auto weighted_vector = [=](int64_t i) {
    const Vector<C> grads = load_wide(g + i);
    return has_weight ? grads * load(w + i) : grads;
  };
  const auto weighted = [=](int64_t i) {
    const C value = static_cast<C>(g[i]);
    return has_weight ? value * w[i] : value;
  };
  C sums[2];
  sum_rows(
      n, sums,
      [=](int64_t i, Vector<C>* to) {
        const Vector<C> a = weighted_vector(i);
        to[0] += a;
        to[1] += a * (load_wide(x + i) - means);
      },
      [=](int64_t i, C* to) {
        const C a = weighted(i);
        to[0] += a;
        to[1] += a * (static_cast<C>(x[i]) - mean);
      });
  const C shift = sums[0] / C(n), slope = sums[1] * scale * scale / C(n);
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

template <class T>
void input_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const int64_t rows = input.sizes()[0], n = input.sizes()[1];
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const Tensor dense_average = values_in<C>(average), dense_rstd = values_in<C>(rstd);
  const Tensor weights = values_in<C>(weight);
  const T *in = dense.data<T>(), *grad = dense_grad.data<T>();
  T* out = result.data<T>();
  const C* w = data_of<C>(weights);
  const C *averages = dense_average.data<C>(), *rstds = dense_rstd.data<C>();
  for_rows(rows, n, 4, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (w) {
        input_grad_row<T, true>(out + r * n, in + r * n, grad + r * n, n, averages[r], rstds[r], w);
      } else {
        input_grad_row<T, false>(out + r * n, in + r * n, grad + r * n, n, averages[r], rstds[r],
                                 w);
      }
    }
  });
}

/// Adds grad xhat of several rows to sums.
template <class T, int rows, class C = Compute<T>>
void add_weight_grads(C* sums, const T* x, const T* g, int64_t n, const C* means, const C* scales) {
  for_vectors<C>(
      n,
      [=](int64_t i) {
        Vector<C> sum = load(sums + i);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
          sum += load_wide(g + r * n + i) *
                 ((load_wide(x + r * n + i) - splat(means[r])) * splat(scales[r]));
        store(sums + i, sum);
      },
      [=](int64_t i) {
        for (int r = 0; r < rows; ++r)
          sums[i] += static_cast<C>(g[r * n + i]) *
                     ((static_cast<C>(x[r * n + i]) - means[r]) * scales[r]);
      });
}

/// sum over rows of grad xhat: pieces of rows, whose number depends on the shape only, then the
/// pieces in pairs.
template <class T>
void weight_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                 const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const int64_t rows = input.sizes()[0], n = input.sizes()[1];
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const Tensor dense_average = values_in<C>(average), dense_rstd = values_in<C>(rstd);
  const T *in = dense.data<T>(), *grad = dense_grad.data<T>();
  const C *averages = dense_average.data<C>(), *rstds = dense_rstd.data<C>();
  const int64_t piece = std::max<int64_t>(64, (int64_t{1} << 17) / std::max<int64_t>(1, n));
  const int64_t pieces = std::max<int64_t>(1, (rows + piece - 1) / piece);
  std::vector<C> partial(static_cast<size_t>(pieces * n), C(0));
  for_rows(pieces, piece * n, 2, [&, in, grad](int64_t begin, int64_t end) {
    std::vector<C> block(static_cast<size_t>(n), C(0));
    C* sums = block.data();
    for (int64_t p = begin; p < end; ++p) {
      C* totals = partial.data() + p * n;
      const int64_t last = std::min(rows, (p + 1) * piece);
      // Short sums first: errors grow with the number of additions to one total.
      for (int64_t r = p * piece; r < last; r += 64) {
        const int64_t stop = std::min(last, r + 64);
        int64_t row = r;
        for (; row + 4 <= stop; row += 4)
          add_weight_grads<T, 4>(sums, in + row * n, grad + row * n, n, averages + row,
                                 rstds + row);
        for (; row < stop; ++row)
          add_weight_grads<T, 1>(sums, in + row * n, grad + row * n, n, averages + row,
                                 rstds + row);
        for (int64_t i = 0; i < n; ++i) totals[i] += sums[i];
        std::fill(block.begin(), block.end(), C(0));
      }
    }
  });
  for (int64_t step = 1; step < pieces; step *= 2)
    for (int64_t p = 0; p + step < pieces; p += 2 * step) {
      C* to = partial.data() + p * n;
      const C* from = to + step * n;
      for (int64_t i = 0; i < n; ++i) to[i] += from[i];
    }
  if constexpr (std::is_same_v<T, C>) {
    std::copy_n(partial.data(), n, result.data<T>());
  } else {
    store_dense(result.data<T>(), partial.data(), n);
  }
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
    input_grad<T>(result, grad_output, input, weight, average, rstd);
  });
}
void layer_norm_weight_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                            const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "layer_norm",
                [&]<class T>() { weight_grad<T>(result, grad_output, input, average, rstd); });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
