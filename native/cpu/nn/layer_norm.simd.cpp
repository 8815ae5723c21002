#include "core/tensor/tensor.h"
#include "cpu/rows.h"

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
    RowBuffer<T> buffer(n), target(n);
    for (int64_t r = begin; r < end; ++r) {
      const C* x = buffer.load(in + r * n, n);
      C* y = target.target(out + r * n);
      const C mean = sum_terms<C>(n, [=](int64_t i) { return x[i]; }) / C(n);
      const C variance =
          sum_terms<C>(n, [=](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / C(n);
      const C scale = math::rsqrt(variance + static_cast<C>(eps));
      averages[r] = mean;
      rstds[r] = scale;
      if (w && b) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * w[i] + b[i];
      } else {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale;
        if (w) {
          for (int64_t i = 0; i < n; ++i) y[i] *= w[i];
        }
        if (b) {
          for (int64_t i = 0; i < n; ++i) y[i] += b[i];
        }
      }
      target.store(out + r * n, n);
    }
  });
}

/// rstd (a - mean(a) - xhat mean(a xhat)), with a = grad weight and xhat = (x - average) rstd.
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
    RowBuffer<T> buffer(n), grads(n), target(n);
    for (int64_t r = begin; r < end; ++r) {
      const C* x = buffer.load(in + r * n, n);
      const C* g = grads.load(grad + r * n, n);
      C* y = target.target(out + r * n);
      const C mean = averages[r], scale = rstds[r];
      C sum = 0, product = 0;
      if (w) {
        sum_pairs<C>(n, sum, product, [=](int64_t i, C& a, C& b) {
          const C weighted = g[i] * w[i];
          a += weighted;
          b += weighted * (x[i] - mean);
        });
      } else {
        sum_pairs<C>(n, sum, product, [=](int64_t i, C& a, C& b) {
          a += g[i];
          b += g[i] * (x[i] - mean);
        });
      }
      const C shift = sum / C(n), slope = product * scale * scale / C(n);
      if (w) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i)
          y[i] = scale * (g[i] * w[i] - shift - (x[i] - mean) * slope);
      } else {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) y[i] = scale * (g[i] - shift - (x[i] - mean) * slope);
      }
      target.store(out + r * n, n);
    }
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
    RowBuffer<T> buffer(n), grads(n);
    std::vector<C> block(static_cast<size_t>(n), C(0));
    C* sums = block.data();
    for (int64_t p = begin; p < end; ++p) {
      C* totals = partial.data() + p * n;
      const int64_t last = std::min(rows, (p + 1) * piece);
      for (int64_t r = p * piece; r < last; ++r) {
        const C* x = buffer.load(in + r * n, n);
        const C* g = grads.load(grad + r * n, n);
        const C mean = averages[r], scale = rstds[r];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) sums[i] += g[i] * ((x[i] - mean) * scale);
        // Short sums first: errors grow with the number of additions to one total.
        if (r % 64 == 63 || r + 1 == last) {
          for (int64_t i = 0; i < n; ++i) totals[i] += sums[i];
          std::fill(block.begin(), block.end(), C(0));
        }
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
