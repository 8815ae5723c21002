#include "cpu/linalg/gemm_kernel.h"

#include "cpu/linalg/few_dots.h"
#include "cpu/linalg/gemm_blocks.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

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
  constexpr int64_t kBlock = 4096;  // of y: stays in L1
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

/// So few lines of one factor are multiplied with those of the other where these lie: more of them
/// are worth packing.
constexpr int64_t kFewLines = 2 * kLanes<float>;

}  // namespace

template <class T>
const GemmKernels<T>& gemm_kernels() {
  static constexpr GemmKernels<T> kernels{
      &gemm<T>,  &gemv_rows<T>, &gemv_columns<T>, &dot_lines<Unchanged<T>>,
      kFewLines, kTileRows,     kTileColumns<T>};
  return kernels;
}
template const GemmKernels<float>& gemm_kernels();
template const GemmKernels<double>& gemm_kernels();
template const GemmKernels<int32_t>& gemm_kernels();
template const GemmKernels<int64_t>& gemm_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
