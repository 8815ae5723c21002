#pragma once

#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/convert.h"
#include "cpu/linalg/gemm.h"

namespace flambeau::cpu {

/// Element-by-element copy to a dense row-major matrix of another type, threaded over rows.
template <class To, class From, class Convert>
void copy_matrix(int64_t m, int64_t n, MatrixView<From> from, To* to, Convert convert) {
  parallel_for(0, m, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const From* row = from.data + i * from.row;
                   To* out = to + i * n;
                   if (from.column == 1)
                     for (int64_t j = 0; j < n; ++j) out[j] = convert(row[j]);
                   else
                     for (int64_t j = 0; j < n; ++j) out[j] = convert(row[j * from.column]);
                 }
               });
}

/// A dense copy in Wide; keeps the order in memory (a transposed view stays one).
template <class Wide, class Narrow, class Convert>
MatrixView<Wide> widened(int64_t m, int64_t n, MatrixView<Narrow> from, Tensor& owner,
                         Convert convert) {
  owner = empty(Shape{m * n}, dtype_of<Wide>);
  Wide* data = owner.data<Wide>();
  if (from.row == 1 && from.column != 1) {
    copy_matrix(n, m, from.transposed(), data, convert);
    return {data, 1, m};
  }
  copy_matrix(m, n, from, data, convert);
  return {data, n, 1};
}

/// c = sums + beta * c (+ bias), rounded (or wrapped) once; `sums` are dense.
template <class T, class Wide>
void store_sums(const Product<T>& call, const Wide* sums) {
  const int64_t m = call.m, n = call.n, ldc = call.ldc;
  const GemmFactor<T> beta = call.beta;
  const T* const bias = call.bias;
  const bool plain = beta == GemmFactor<T>(0) && !bias;
  ConvertFunction* const convert = find_convert(dtype_of<T>, dtype_of<Wide>);
  parallel_for(0, m, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Wide* sum = sums + i * n;
                   T* out = call.c + i * ldc;
                   if (plain) {
                     convert(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(sum), n);
                     continue;
                   }
                   for (int64_t j = 0; j < n; ++j) {
                     Wide value = sum[j];
                     if (beta != GemmFactor<T>(0))
                       value += static_cast<Wide>(beta) * static_cast<Wide>(out[j]);
                     if (bias) value += static_cast<Wide>(bias[j]);
                     out[j] = static_cast<T>(value);
                   }
                 }
               });
}

}  // namespace flambeau::cpu
