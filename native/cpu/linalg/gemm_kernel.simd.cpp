#include "cpu/linalg/gemm_kernel.h"

#include <algorithm>

#include "cpu/linalg/pack.h"
#include "cpu/linalg/scratch.h"

// Matrix multiplication after Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008): c is computed in tiles that stay in registers, from panels of a and b
// that are packed so that the tile loop reads them in order.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kDepth = 256;           // of a panel: a tile's panel of b (32 KiB) stays in L1
constexpr int64_t kPanelRows = 240;       // of a: 240 KiB in L2; a multiple of 12
constexpr int64_t kPanelBytes = 2 << 20;  // of b: in L3

/// Reads a and b where they are: for matrices that fit the first cache levels.
template <class T>
void gemm_direct(const GemmCall<T>& call, const MatrixView<T>& b) {
  for (int64_t j = 0; j < call.n; j += kTileColumns<T>)
    for (int64_t i = 0; i < call.m; i += kTileRows)
      run_tile(std::min<int64_t>(kTileRows, call.m - i), std::min(kTileColumns<T>, call.n - j),
               call.k, StridedRows<T>{call.a.data + i * call.a.row, call.a.row, call.a.column},
               SteppedLines<T>{b.data + j, b.row},
               Epilogue<T>{call.c + i * call.ldc + j, call.ldc, call.alpha, call.beta,
                           call.bias ? call.bias + j : nullptr});
}

template <class T>
void gemm_packed(const GemmCall<T>& call) {
  constexpr int64_t width = kTileColumns<T>;
  const int64_t depth_limit = kDepth * 4 / static_cast<int64_t>(sizeof(T));
  // Equal parts: a remainder of a few columns of a would cost a whole pass over c.
  const int64_t parts = (call.k + depth_limit - 1) / depth_limit;
  const int64_t depth_step = (call.k + parts - 1) / parts;
  const int64_t column_step =
      std::max(kPanelBytes / (depth_step * static_cast<int64_t>(sizeof(T))) / width * width, width);
  const int64_t padded = std::min((call.n + width - 1) / width * width, column_step);
  const bool packs_a = call.n > 4 * width || call.a.row == 1;
  T* packed_b = scratch<T>(0, static_cast<size_t>(padded * depth_step));
  T* packed_a = packs_a ? scratch<T>(1, static_cast<size_t>(kPanelRows * depth_step)) : nullptr;
  for (int64_t j0 = 0; j0 < call.n; j0 += column_step) {
    const int64_t columns = std::min(column_step, call.n - j0);
    for (int64_t p0 = 0; p0 < call.k; p0 += depth_step) {
      const int64_t depth = std::min(depth_step, call.k - p0);
      const bool first = p0 == 0;
      pack_b(call.b.at(p0, j0), depth, columns, packed_b);
      for (int64_t i0 = 0; i0 < call.m; i0 += kPanelRows) {
        const int64_t rows = std::min(kPanelRows, call.m - i0);
        const MatrixView<T> a = call.a.at(i0, p0);
        if (packs_a) pack_a(a, rows, depth, packed_a);
        for (int64_t j = 0; j < columns; j += width)
          for (int64_t i = 0; i < rows; i += kTileRows) {
            const Epilogue<T> out{call.c + (i0 + i) * call.ldc + j0 + j, call.ldc, call.alpha,
                                  first ? call.beta : T(1),
                                  call.bias && first ? call.bias + j0 + j : nullptr};
            const int64_t tile_rows = std::min<int64_t>(kTileRows, rows - i);
            const int64_t tile_columns = std::min(width, columns - j);
            const SteppedLines<T> b{packed_b + j * depth, width};
            if (packs_a)
              run_tile(tile_rows, tile_columns, depth, PackedRows<T>{packed_a + i * depth}, b, out);
            else
              run_tile(tile_rows, tile_columns, depth,
                       StridedRows<T>{a.data + i * a.row, a.row, a.column}, b, out);
          }
      }
    }
  }
}

template <class T>
void gemm(const GemmCall<T>& call) {
  const bool small = call.k * (call.m + call.n) * static_cast<int64_t>(sizeof(T)) <= (64 << 10);
  if (call.b.column == 1 && (small || call.m <= kTileRows)) {
    gemm_direct(call, call.b);
  } else if (call.k <= kLanes<T> && call.n <= kLanes<T>) {
    // A transposed b of one vector: straight into a buffer on the stack.
    T buffer[kLanes<T> * kLanes<T>];
    for (int64_t p = 0; p < call.k; ++p)
      for (int64_t j = 0; j < call.n; ++j)
        buffer[p * kLanes<T> + j] = call.b.data[p * call.b.row + j * call.b.column];
    gemm_direct(call, {buffer, kLanes<T>, 1});
  } else {
    gemm_packed(call);
  }
}

/// Four rows at a time share the loads of x.
template <class T>
void gemv_rows(const GemvCall<T>& call) {
  constexpr int lanes = kLanes<T>;
  const auto finish = [&](int64_t i, T sum) {
    T value = call.alpha == T(1) ? sum : static_cast<T>(call.alpha * sum);
    if (call.beta != T(0)) value += call.beta * call.y[i];
    call.y[i] = value;
  };
  const int64_t whole = call.columns / lanes * lanes, rest = call.columns - whole;
  const auto total = [](const Vector<T>& value) {
    T sum = value[0];
    for (int l = 1; l < lanes; ++l) sum += value[l];
    return sum;
  };
  int64_t i = 0;
  for (; i + 4 <= call.rows; i += 4) {
    const T* row = call.a + i * call.lda;
    Vector<T> sum[4][2] = {};
    int64_t j = 0;
    for (; j + 2 * lanes <= whole; j += 2 * lanes) {
      const Vector<T> x0 = load(call.x + j), x1 = load(call.x + j + lanes);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        sum[r][0] = multiply_add<T>(load(row + r * call.lda + j), x0, sum[r][0]);
        sum[r][1] = multiply_add<T>(load(row + r * call.lda + j + lanes), x1, sum[r][1]);
      }
    }
    for (; j < whole; j += lanes)
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) sum[r][0] += load(row + r * call.lda + j) * load(call.x + j);
    if (rest) {
      const Mask<T> mask(rest);
      const Vector<T> x0 = mask.load(call.x + j);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) sum[r][1] += mask.load(row + r * call.lda + j) * x0;
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) finish(i + r, total(sum[r][0] + sum[r][1]));
  }
  for (; i < call.rows; ++i) {
    const T* row = call.a + i * call.lda;
    Vector<T> sum[4] = {};
    int64_t j = 0;
    for (; j + 4 * lanes <= whole; j += 4 * lanes)
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r)
        sum[r] = multiply_add<T>(load(row + j + r * lanes), load(call.x + j + r * lanes), sum[r]);
    for (; j < whole; j += lanes) sum[0] += load(row + j) * load(call.x + j);
    if (rest) {
      const Mask<T> mask(rest);
      sum[1] += mask.load(row + j) * mask.load(call.x + j);
    }
    finish(i, total((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
}

/// y[0, rows) += sum of `count` columns, each times its factor.
template <class T, int count>
void add_columns(int64_t rows, const T* a, int64_t lda, const T* x, T alpha, T* y) {
  constexpr int lanes = kLanes<T>;
  Vector<T> factor[count];
  for (int c = 0; c < count; ++c) factor[c] = splat(static_cast<T>(x[c] * alpha));
  const int64_t whole = rows / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) {
    Vector<T> even = load(y + i), odd = {};
#pragma GCC unroll 8
    for (int c = 0; c < count; ++c) {
      Vector<T>& sum = c % 2 ? odd : even;
      sum = multiply_add<T>(load(a + c * lda + i), factor[c], sum);
    }
    store(y + i, even + odd);
  }
  if (whole == rows) return;
  const Mask<T> mask(rows - whole);
  Vector<T> sum = mask.load(y + whole);
  for (int c = 0; c < count; ++c)
    sum = multiply_add<T>(mask.load(a + c * lda + whole), factor[c], sum);
  mask.store(y + whole, sum);
}

/// a holds column after column (unit stride along rows); y accumulates eight columns a pass.
template <class T>
void gemv_columns(const GemvCall<T>& call) {
  constexpr int64_t kBlock = 2048;  // of y: stays in L1
  for (int64_t i0 = 0; i0 < call.rows; i0 += kBlock) {
    const int64_t rows = std::min(kBlock, call.rows - i0);
    T* y = call.y + i0;
    if (call.beta == T(0))
      for (int64_t i = 0; i < rows; ++i) y[i] = T(0);
    else if (call.beta != T(1))
      for (int64_t i = 0; i < rows; ++i) y[i] *= call.beta;
    const T* a = call.a + i0;
    int64_t j = 0;
    for (; j + 8 <= call.columns; j += 8)
      add_columns<T, 8>(rows, a + j * call.lda, call.lda, call.x + j, call.alpha, y);
    for (; j < call.columns; ++j)
      add_columns<T, 1>(rows, a + j * call.lda, call.lda, call.x + j, call.alpha, y);
  }
}

}  // namespace

template <class T>
const GemmKernels<T>& gemm_kernels() {
  static constexpr GemmKernels<T> kernels{&gemm<T>, &gemv_rows<T>, &gemv_columns<T>, kTileRows,
                                          kTileColumns<T>};
  return kernels;
}
template const GemmKernels<float>& gemm_kernels();
template const GemmKernels<double>& gemm_kernels();
template const GemmKernels<int32_t>& gemm_kernels();
template const GemmKernels<int64_t>& gemm_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
