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

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
