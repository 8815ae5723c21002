#include <optional>

#include "core/tensor/tensor.h"
#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "cpu/linalg/vector.h"
#include "cpu/rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// What running totals are kept in: wider than the elements, as errors would add up along the dim.
template <class T>
struct Running {
  using type = T;
};
template <>
struct Running<float> {
  using type = double;
};
template <>
struct Running<float16> {
  using type = float;
};
template <>
struct Running<bfloat16> {
  using type = float;
};
template <>
struct Running<complex<float>> {
  using type = complex<double>;
};
template <>
struct Running<bool> {
  using type = int64_t;
};

struct Sum {
  static constexpr int kStart = 0;
  template <class A>
  static FLAMBEAU_INLINE A step(A total, A x) {
    return static_cast<A>(total + x);
  }
};
struct Product {
  static constexpr int kStart = 1;
  template <class A>
  static FLAMBEAU_INLINE A step(A total, A x) {
    return static_cast<A>(total * x);
  }
};
struct Recurrence {
  static constexpr int kStart = 0;
  template <class A>
  static FLAMBEAU_INLINE A step(A total, A factor, A addend) {
    return static_cast<A>(factor * total + addend);
  }
};

/// Several rows at once: the steps of one row wait for each other, those of different rows do not.
template <class Op, class T, int count, class... Input>
void scan_rows(T* out, int64_t n, const Input*... in) {
  using A = typename Running<T>::type;
  A total[count];
  for (int k = 0; k < count; ++k) total[k] = A(Op::kStart);
  in_blocks(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int k = 0; k < count; ++k) {
        total[k] = Op::step(total[k], static_cast<A>(static_cast<T>(in[k * n + i]))...);
        out[k * n + i] = static_cast<T>(total[k]);
      }
    }
  });
}

/// As many rows as a vector has lanes, a step of all at once: squares of them are turned in
/// registers, there and back.
template <class Op, class T>
void scan_rows_in_lanes(T* out, int64_t n, const T* in) {
  using A = typename Running<T>::type;
  constexpr int lanes = kLanes<T>;
  const int64_t squares = n / lanes;
  A total[lanes];
  std::fill_n(total, lanes, A(Op::kStart));
  in_blocks(squares, [&](int64_t begin, int64_t end) {
    for (int64_t square = begin; square < end; ++square) {
      Vector<T> rows[lanes];
      alignas(64) T step[lanes];
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) rows[r] = load(in + r * n + square * lanes);
      transpose_square<T>(rows);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        store(step, rows[i]);
#pragma omp simd
        for (int r = 0; r < lanes; ++r) {
          total[r] = Op::step(total[r], static_cast<A>(step[r]));
          step[r] = static_cast<T>(total[r]);
        }
        rows[i] = load(step);
      }
      transpose_square<T>(rows);
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) store(out + r * n + square * lanes, rows[r]);
    }
  });
  for (int64_t i = squares * lanes; i < n; ++i)
    for (int r = 0; r < lanes; ++r) {
      total[r] = Op::step(total[r], static_cast<A>(in[r * n + i]));
      out[r * n + i] = static_cast<T>(total[r]);
    }
}

template <class Op, class T, class... Input>
void scan_columns(T* out, const DimBlocks& blocks, const Input*... in) {
  using A = typename Running<T>::type;
  constexpr int64_t kWidth = 256;
  const int64_t per_outer = (blocks.inner + kWidth - 1) / kWidth;
  for_rows(blocks.outer * per_outer, blocks.size * std::min(kWidth, blocks.inner), 2,
           [&](int64_t begin, int64_t end) {
             for (int64_t task = begin; task < end; ++task) {
               const int64_t column = task % per_outer * kWidth;
               const int64_t width = std::min(kWidth, blocks.inner - column);
               const int64_t start = task / per_outer * blocks.size * blocks.inner + column;
               A total[kWidth];
               std::fill(total, total + width, A(Op::kStart));
               for (int64_t r = 0; r < blocks.size; ++r) {
                 const int64_t row = start + r * blocks.inner;
#pragma omp simd
                 for (int64_t c = 0; c < width; ++c) {
                   total[c] = Op::step(total[c], static_cast<A>(static_cast<T>(in[row + c]))...);
                   out[row + c] = static_cast<T>(total[c]);
                 }
               }
             }
           });
}

/// Op over dense operands of the result's dtype and shape.
template <class Op, class... Operands>
void scan_dense(const Tensor& result, Dim dim, const Operands&... operands) {
  const DimBlocks blocks(result.sizes(), dim);
  const auto run = [&]<class T>() {
    T* out = result.data<T>();
    if (blocks.inner > 1)
      return scan_columns<Op>(out, blocks, operands.template data<const Loaded<T>>()...);
    const int64_t n = blocks.size;
    for_rows(blocks.outer, n, 4, [&](int64_t begin, int64_t end) {
      int64_t r = begin;
      if constexpr (sizeof...(Operands) == 1 && std::is_floating_point_v<T>)
        for (; n >= 2 * kLanes<T> && r + kLanes<T> <= end; r += kLanes<T>)
          scan_rows_in_lanes<Op, T>(out + r * n, n, operands.template data<const T>() + r * n...);
      for (; r + 4 <= end; r += 4)
        scan_rows<Op, T, 4>(out + r * n, n, operands.template data<const Loaded<T>>() + r * n...);
      for (; r < end; ++r)
        scan_rows<Op, T, 1>(out + r * n, n, operands.template data<const Loaded<T>>() + r * n...);
    });
  };
  switch (result.dtype()) {
#define FLAMBEAU_SCAN(name, type, ...) \
  case DType::name:                    \
    return run.template operator()<type>();
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_SCAN)
#undef FLAMBEAU_SCAN
  }
}

template <class Op, class... Operands>
void scan(const Tensor& result, Dim dim, const Operands&... operands) {
  if (result.numel() == 0) return;
  scan_dense<Op>(result, dim, contiguous_data(cast_data(operands, result.dtype()))...);
}

}  // namespace

void cumsum(const Tensor& result, const Tensor& self, Dim dim, std::optional<DType>) {
  scan<Sum>(result, dim, self);
}
void cumprod(const Tensor& result, const Tensor& self, Dim dim, std::optional<DType>) {
  scan<Product>(result, dim, self);
}
void linear_recurrence(const Tensor& result, const Tensor& factor, const Tensor& addend, Dim dim) {
  scan<Recurrence>(result, dim, factor, addend);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
