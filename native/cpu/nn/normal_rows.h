#pragma once

/// What normalizations of rows share: statistics of a row, numbers in the type that is computed in.
/// Include only from *.simd.cpp files.

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

/// y = (x - mean) factor + shift
template <class T, class C = Compute<T>>
FLAMBEAU_INLINE void scale_row(T* y, const T* x, int64_t n, C mean, C factor, C shift) {
  const Vector<C> means = splat(mean), factors = splat(factor), shifts = splat(shift);
  for_vectors<C>(
      n, [=](int64_t i) { store_wide(y + i, (load_wide(x + i) - means) * factors + shifts); },
      [=](int64_t i) { y[i] = T((static_cast<C>(x[i]) - mean) * factor + shift); });
}

/// y = factor g - shift - (x - mean) slope
template <class T, class C = Compute<T>>
FLAMBEAU_INLINE void grad_run(T* y, const T* x, const T* g, int64_t n, C mean, C factor, C shift,
                              C slope) {
  const Vector<C> means = splat(mean), factors = splat(factor);
  const Vector<C> shifts = splat(shift), slopes = splat(slope);
  for_vectors<C>(
      n,
      [=](int64_t i) {
        store_wide(y + i,
                   factors * load_wide(g + i) - shifts - (load_wide(x + i) - means) * slopes);
      },
      [=](int64_t i) {
        y[i] = T(factor * static_cast<C>(g[i]) - shift - (static_cast<C>(x[i]) - mean) * slope);
      });
}

/// sum(grad) and sum(grad (x - mean)) of a row.
template <class T, class C = Compute<T>>
FLAMBEAU_INLINE void sum_grads(const T* x, const T* g, int64_t n, C mean, C (&sums)[2]) {
  const Vector<C> means = splat(mean);
  const auto element = [=](int64_t i, C* to) {
    const C grad = static_cast<C>(g[i]);
    to[0] += grad;
    to[1] += grad * (static_cast<C>(x[i]) - mean);
  };
  if (n < kLanes<C>) {
    sums[0] = sums[1] = 0;
    for (int64_t i = 0; i < n; ++i) element(i, sums);
    return;
  }
  sum_rows(
      n, sums,
      [=](int64_t i, Vector<C>* to) {
        const Vector<C> grads = load_wide(g + i);
        to[0] += grads;
        to[1] += grads * (load_wide(x + i) - means);
      },
      element);
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
