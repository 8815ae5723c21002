#include "core/tensor/tensor.h"
#include "cpu/blocks.h"
#include "cpu/math.h"
#include "cpu/nn/exponentials.h"
#include "cpu/row_extrema.h"
#include "cpu/rows.h"

#include "core/math/exponentials.h"
#include "core/math/extrema.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Columns that are worked on together when the dim is not the innermost one: their elements should
/// stay in the second-level cache between passes.
template <class C>
int64_t block_width(const DimBlocks& blocks) {
  constexpr int64_t kBytes = 512 * 1024;
  const int64_t width =
      kBytes / std::max<int64_t>(1, blocks.size * static_cast<int64_t>(sizeof(C)));
  return std::clamp<int64_t>(width / 16 * 16, 64, 512);
}

/// Calls body(offset, columns): element (r, c) of a block lies at offset + r * inner + c.
template <class C, class Body>
void for_column_blocks(const DimBlocks& blocks, const Body& body) {
  const int64_t width = block_width<C>(blocks);
  const int64_t per_outer = (blocks.inner + width - 1) / width;
  for_rows(blocks.outer * per_outer, blocks.size * std::min(width, blocks.inner), 8,
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               const int64_t column = i % per_outer * width;
               body(i / per_outer * blocks.size * blocks.inner + column,
                    std::min(width, blocks.inner - column));
             }
           });
}

// --- rows: the dim is the innermost one ---

template <class T>
void softmax_rows(T* out, const T* in, int64_t rows, int64_t n) {
  using C = Compute<T>;
  for_rows(rows, n, 8, [=](int64_t begin, int64_t end) {
    RowBuffer<T> input(n), output(n);
    for (int64_t r = begin; r < end; ++r) {
      const C* x = input.load(in + r * n, n);
      C* y = output.target(out + r * n);
      const C largest = row_max(x, n);
      const C sum = sum_terms<C>(n, [=](int64_t i) { return y[i] = exponential(x[i] - largest); });
      const C scale = C(1) / sum;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) y[i] *= scale;
      output.store(out + r * n, n);
    }
  });
}

/// Rows whose logarithms are taken together: whole vectors of them, so that none depends on where
/// its row stands.
constexpr int64_t kGroup = 16;

/// Not inlined: a loop of known length is unrolled, and some of it left to scalars.
template <class C>
[[gnu::noipa]] void take_logarithms(C* values, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) values[i] = math::log(values[i]);
}

template <class T>
void log_softmax_rows(T* out, const T* in, int64_t rows, int64_t n) {
  using C = Compute<T>;
  constexpr int64_t kNear = 8192;  // elements of a group that are still near when they are written
  const int64_t group = std::clamp<int64_t>(kNear / n, 1, kGroup);
  for_rows(rows, n, 8, [=](int64_t begin, int64_t end) {
    RowBuffer<T> input(n), output(n);
    for (int64_t first = begin; first < end; first += group) {
      const int64_t count = std::min(group, end - first);
      alignas(64) C largest[kGroup], shift[kGroup];
      std::fill_n(shift, kGroup, C(1));
      for (int64_t r = 0; r < count; ++r) {
        const C* x = input.load(in + (first + r) * n, n);
        largest[r] = row_max(x, n);
        shift[r] = sum_exponentials(x, n, largest[r]);
      }
      take_logarithms(shift, kGroup);
      for (int64_t r = 0; r < count; ++r) {
        T* const to = out + (first + r) * n;
        const C* x = input.load(in + (first + r) * n, n);
        C* y = output.target(to);
        const C top = largest[r], less = shift[r];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - top) - less;
        output.store(to, n);
      }
    }
  });
}

template <class T, bool logarithm>
void backward_rows(T* out, const T* grad, const T* result, int64_t rows, int64_t n) {
  using C = Compute<T>;
  for_rows(rows, n, logarithm ? 8 : 2, [=](int64_t begin, int64_t end) {
    RowBuffer<T> grads(n), results(n), output(n);
    for (int64_t r = begin; r < end; ++r) {
      const C* g = grads.load(grad + r * n, n);
      const C* y = results.load(result + r * n, n);
      C* x = output.target(out + r * n);
      if constexpr (logarithm) {
        const C sum = sum_terms<C>(n, [=](int64_t i) { return g[i]; });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) x[i] = g[i] - exponential(y[i]) * sum;
      } else {
        const C sum = sum_terms<C>(n, [=](int64_t i) { return g[i] * y[i]; });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) x[i] = y[i] * (g[i] - sum);
      }
      output.store(out + r * n, n);
    }
  });
}

// --- columns: neighbours belong to different slices ---

template <class T, bool logarithm>
void forward_columns(T* out, const T* in, const DimBlocks& blocks) {
  using C = Compute<T>;
  for_column_blocks<C>(blocks, [=](int64_t offset, int64_t columns) {
    const int64_t step = blocks.inner;
    RowBuffer<T> input(columns), output(columns);
    alignas(64) C largest[512], sum[512];
    for (int64_t r = 0; r < blocks.size; ++r) {
      const C* x = input.load(in + offset + r * step, columns);
      if (r == 0) std::copy(x, x + columns, largest);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) largest[c] = math::maximum(largest[c], x[c]);
    }
    std::fill(sum, sum + columns, C(0));
    for (int64_t r = 0; r < blocks.size; ++r) {
      const C* x = input.load(in + offset + r * step, columns);
      if constexpr (logarithm) {
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) sum[c] += exponential(x[c] - largest[c]);
      } else {
        C* y = output.target(out + offset + r * step);
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) {
          y[c] = exponential(x[c] - largest[c]);
          sum[c] += y[c];
        }
        output.store(out + offset + r * step, columns);
      }
    }
    for (int64_t c = 0; c < columns; ++c) sum[c] = logarithm ? math::log(sum[c]) : C(1) / sum[c];
    for (int64_t r = 0; r < blocks.size; ++r) {
      const int64_t place = offset + r * step;
      C* y = output.target(out + place);
      if constexpr (logarithm) {
        const C* x = input.load(in + place, columns);
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) y[c] = (x[c] - largest[c]) - sum[c];
      } else {
        const C* exponential = input.load(out + place, columns);
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) y[c] = exponential[c] * sum[c];
      }
      output.store(out + place, columns);
    }
  });
}

template <class T, bool logarithm>
void backward_columns(T* out, const T* grad, const T* result, const DimBlocks& blocks) {
  using C = Compute<T>;
  for_column_blocks<C>(blocks, [=](int64_t offset, int64_t columns) {
    const int64_t step = blocks.inner;
    RowBuffer<T> grads(columns), results(columns), output(columns);
    alignas(64) C sum[512] = {};
    for (int64_t r = 0; r < blocks.size; ++r) {
      const C* g = grads.load(grad + offset + r * step, columns);
      [[maybe_unused]] const C* y = nullptr;
      if constexpr (!logarithm) y = results.load(result + offset + r * step, columns);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) {
        if constexpr (logarithm) {
          sum[c] += g[c];
        } else {
          sum[c] += g[c] * y[c];
        }
      }
    }
    for (int64_t r = 0; r < blocks.size; ++r) {
      const int64_t place = offset + r * step;
      const C* g = grads.load(grad + place, columns);
      const C* y = results.load(result + place, columns);
      C* x = output.target(out + place);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) {
        if constexpr (logarithm) {
          x[c] = g[c] - exponential(y[c]) * sum[c];
        } else {
          x[c] = y[c] * (g[c] - sum[c]);
        }
      }
      output.store(out + place, columns);
    }
  });
}

template <bool logarithm>
void forward(const char* op, const Tensor& result, const Tensor& self, Dim dim) {
  if (self.numel() == 0) return;
  const Tensor input = contiguous_data(self);
  const DimBlocks blocks(self.sizes(), dim);
  with_floating(self.dtype(), op, [&]<class T>() {
    if (blocks.inner == 1) {
      constexpr auto rows = logarithm ? &log_softmax_rows<T> : &softmax_rows<T>;
      rows(result.data<T>(), input.data<T>(), blocks.outer, blocks.size);
    } else {
      forward_columns<T, logarithm>(result.data<T>(), input.data<T>(), blocks);
    }
  });
}

template <bool logarithm>
void backward(const char* op, const Tensor& result, const Tensor& grad_output, const Tensor& output,
              Dim dim) {
  if (output.numel() == 0) return;
  const Tensor grad = contiguous_data(grad_output), forward_result = contiguous_data(output);
  const DimBlocks blocks(output.sizes(), dim);
  with_floating(output.dtype(), op, [&]<class T>() {
    const T* g = grad.data<T>();
    const T* y = forward_result.data<T>();
    if (blocks.inner == 1) {
      backward_rows<T, logarithm>(result.data<T>(), g, y, blocks.outer, blocks.size);
    } else {
      backward_columns<T, logarithm>(result.data<T>(), g, y, blocks);
    }
  });
}

}  // namespace

void softmax_forward(const Tensor& result, const Tensor& self, Dim dim) {
  forward<false>("softmax", result, self, dim);
}
void log_softmax_forward(const Tensor& result, const Tensor& self, Dim dim) {
  forward<true>("log_softmax", result, self, dim);
}
void softmax_grad(const Tensor& result, const Tensor& grad_output, const Tensor& output, Dim dim) {
  backward<false>("softmax", result, grad_output, output, dim);
}
void log_softmax_grad(const Tensor& result, const Tensor& grad_output, const Tensor& output,
                      Dim dim) {
  backward<true>("log_softmax", result, grad_output, output, dim);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
