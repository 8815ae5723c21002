#include "cpu/linalg/gemm.h"

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "cpu/convert.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu {
namespace {

/// Multiplications that pay for waking another thread (about 2 us).
constexpr int64_t kThreadWork = 200'000;
/// Elements that gemv should read per thread.
constexpr int64_t kGemvWork = 32'768;

struct Grid {
  int64_t rows = 1, columns = 1;
};

/// How to cut c between threads: each packs its own part of a and b, so that squarer parts and
/// whole tiles are cheaper. Costs are in cycles of a tile loop; only their ratios matter.
template <class T>
Grid choose_grid(int64_t m, int64_t n, int64_t k, const GemmKernels<T>& kernels) {
  const int64_t work = m * n * k;
  if (work < 2 * kThreadWork || in_parallel_region()) return {};
  const int64_t threads = std::min<int64_t>(num_threads(), work / kThreadWork);
  Grid best;
  double best_cost = 0;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const int64_t columns = threads / rows;
    const auto tiles = [](int64_t extent, int64_t tile, int64_t parts) {
      return static_cast<double>(((extent + tile - 1) / tile + parts - 1) / parts * tile);
    };
    const double part_m = tiles(m, kernels.tile_rows, rows);
    const double part_n = tiles(n, kernels.tile_columns, columns);
    const double cost = part_m * part_n / 32 + 0.15 * part_m + 0.25 * part_n;
    if (best_cost == 0 || cost < best_cost) {
      best_cost = cost;
      best = {rows, columns};
    }
  }
  return best;
}

template <class T>
void gemm_threaded(const GemmCall<T>& call, const GemmKernels<T>& kernels, Grid grid) {
  const auto part = [](int64_t extent, int64_t tile, int64_t parts) {
    return ((extent + tile - 1) / tile + parts - 1) / parts * tile;
  };
  const int64_t part_m = part(call.m, kernels.tile_rows, grid.rows);
  const int64_t part_n = part(call.n, kernels.tile_columns, grid.columns);
  parallel_for(0, grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t i = index / grid.columns * part_m, j = index % grid.columns * part_n;
      if (i >= call.m || j >= call.n) continue;
      GemmCall<T> mine = call;
      mine.m = std::min(part_m, call.m - i);
      mine.n = std::min(part_n, call.n - j);
      mine.a = call.a.at(i, 0);
      mine.b = call.b.at(0, j);
      mine.c = call.c + i * call.ldc + j;
      if (call.bias) mine.bias = call.bias + j;
      kernels.gemm(mine);
    }
  });
}

template <class T>
void gemm_tiled(const GemmCall<T>& call, const GemmKernels<T>& kernels) {
  const Grid grid = choose_grid(call.m, call.n, call.k, kernels);
  if (grid.rows * grid.columns == 1)
    kernels.gemm(call);
  else
    gemm_threaded(call, kernels, grid);
}

/// y = alpha * a @ x + beta * y, or false when the layout needs copies (then gemm packs).
template <class T>
bool try_gemv(int64_t rows, int64_t columns, MatrixView<T> a, const T* x, int64_t x_step, T* y,
              T alpha, T beta, const GemmKernels<T>& kernels) {
  if (a.column != 1 && a.row != 1) return false;
  if (x_step != 1) {
    T* dense = scratch<T>(2, static_cast<size_t>(columns));
    for (int64_t j = 0; j < columns; ++j) dense[j] = x[j * x_step];
    x = dense;
  }
  const bool by_rows = a.column == 1;
  const int64_t grain =
      std::max<int64_t>(64, (kGemvWork / std::max<int64_t>(columns, 1) + 63) / 64 * 64);
  const auto run = [&](int64_t begin, int64_t end) {
    const GemvCall<T> call{
        end - begin, columns, a.data + begin * a.row, by_rows ? a.row : a.column, x, y + begin,
        alpha,       beta};
    by_rows ? kernels.gemv_rows(call) : kernels.gemv_columns(call);
  };
  if (rows <= grain)
    run(0, rows);
  else
    parallel_for(0, rows, grain, run);
  return true;
}

template <class T>
void add_bias(T* c, int64_t count, const T* bias) {
  if (bias)
    for (int64_t j = 0; j < count; ++j) c[j] += bias[j];
}

/// The types that have tile kernels.
template <class T>
void gemm_native(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                 int64_t ldc, T alpha, T beta, const T* bias) {
  const GemmKernels<T>& kernels = gemm_kernels<T>();
  if (n == 1 && (ldc == 1 || m == 1) && m > 1) {
    if (try_gemv(m, k, a, b.data, b.row, c, alpha, beta, kernels)) {
      if (bias)
        for (int64_t i = 0; i < m; ++i) c[i] += bias[0];
      return;
    }
  } else if (m == 1 && (n == 1 || b.column != 1 || k * n > 4096)) {
    if (try_gemv(n, k, b.transposed(), a.data, a.column, c, alpha, beta, kernels)) {
      add_bias(c, n, bias);
      return;
    }
  }
  gemm_tiled<T>({m, n, k, a, b, c, ldc, alpha, beta, bias}, kernels);
}

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

/// c = sums + beta * c (+ bias), rounded (or wrapped) once.
template <class T, class Wide>
void store_sums(int64_t m, int64_t n, const Wide* sums, T* c, int64_t ldc, GemmFactor<T> beta,
                const T* bias) {
  const bool plain = beta == GemmFactor<T>(0) && !bias;
  ConvertFunction* const convert = find_convert(dtype_of<T>, dtype_of<Wide>);
  parallel_for(0, m, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Wide* sum = sums + i * n;
                   T* out = c + i * ldc;
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

/// Computes in Wide.
template <class T, class Wide>
void gemm_widened(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                  int64_t ldc, GemmFactor<T> alpha, GemmFactor<T> beta, const T* bias) {
  const auto widen = [](T value) { return static_cast<Wide>(value); };
  Tensor a_owner, b_owner;
  const MatrixView<Wide> wide_a = widened<Wide>(m, k, a, a_owner, widen);
  const MatrixView<Wide> wide_b = widened<Wide>(k, n, b, b_owner, widen);
  const Tensor sums = empty(Shape{m, n}, dtype_of<Wide>);
  gemm_native<Wide>(m, n, k, wide_a, wide_b, sums.data<Wide>(), n, static_cast<Wide>(alpha),
                    Wide(0), nullptr);
  store_sums(m, n, sums.data<Wide>(), c, ldc, beta, bias);
}

/// A matrix with dense rows times a vector in float: rows are widened a few at a time, so that the
/// wide ones stay in the cache.
template <class T>
void gemv_widened(int64_t rows, int64_t columns, MatrixView<T> a, const T* x, int64_t x_step, T* y,
                  float alpha, float beta, const T* bias) {
  constexpr int64_t kBlock = 8192;  // elements
  const int64_t height = std::max<int64_t>(1, kBlock / columns);
  const GemmKernels<float>& kernels = gemm_kernels<float>();
  ConvertFunction* const widen = find_convert(DType::float32, dtype_of<T>);
  std::vector<float> wide_x(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; ++j)
    wide_x[static_cast<size_t>(j)] = static_cast<float>(x[j * x_step]);
  const int64_t grain = std::max<int64_t>(height, kGemvWork / columns);
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    float* const block = scratch<float>(2, static_cast<size_t>(height * columns));
    float* const sums = scratch<float>(3, static_cast<size_t>(height));
    for (; begin < end; begin += height) {
      const int64_t count = std::min(height, end - begin);
      for (int64_t i = 0; i < count; ++i) {
        widen(reinterpret_cast<char*>(block + i * columns),
              reinterpret_cast<const char*>(a.data + (begin + i) * a.row), columns);
      }
      kernels.gemv_rows({count, columns, block, columns, wide_x.data(), sums, alpha, 0});
      for (int64_t i = 0; i < count; ++i) {
        T& out = y[begin + i];
        const float kept = beta == 0 ? 0 : beta * static_cast<float>(out);
        out = T(sums[i] + kept + (bias ? static_cast<float>(bias[0]) : 0.f));
      }
    }
  });
}

/// The same for whichever of the factors is a vector; false where none is, or where the matrix has
/// no dense rows to be read in order.
template <class T>
bool try_gemv_widened(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                      int64_t ldc, float alpha, float beta, const T* bias) {
  if (k == 0) return false;
  if (n == 1 && a.column == 1 && (ldc == 1 || m == 1)) {
    gemv_widened(m, k, a, b.data, b.row, c, alpha, beta, bias);
    return true;
  }
  if (m == 1 && b.row == 1 && !bias) {
    gemv_widened<T>(n, k, b.transposed(), a.data, a.column, c, alpha, beta, nullptr);
    return true;
  }
  return false;
}

/// Element (l, p) holds elements 2p and 2p + 1 of line l; an odd one at the end is paired with 0.
/// Lines run along the depth of the product: rows of a, columns of b. The order in memory is kept.
MatrixView<Bfloat16Pair> paired(MatrixView<bfloat16> lines, int64_t count, int64_t depth,
                                Tensor& owner) {
  const int64_t pairs = (depth + 1) / 2, step = lines.column;
  owner = empty(Shape{count * pairs}, DType::int32);
  Bfloat16Pair* const out = owner.data<Bfloat16Pair>();
  const uint16_t* const from = reinterpret_cast<const uint16_t*>(lines.data);
  const auto pair = [](uint32_t low, uint32_t high) { return low | high << 16; };
  const bool along = step == 1;  // pairs are neighbours
  const int64_t outer = along ? count : pairs, inner = along ? pairs : count;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(inner, 1));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      Bfloat16Pair* const to = out + o * inner;
      if (along) {
        const uint16_t* const line = from + o * lines.row;
        for (int64_t p = 0; p < depth / 2; ++p) to[p] = pair(line[2 * p], line[2 * p + 1]);
        if (depth % 2) to[depth / 2] = line[depth - 1];
      } else {
        const uint16_t* const low = from + 2 * o * step;
        const bool whole = 2 * o + 1 < depth;
        const uint16_t* const high = whole ? low + step : low;
        const uint32_t mask = whole ? 0xffff : 0;
        for (int64_t l = 0; l < count; ++l)
          to[l] = pair(low[l * lines.row], high[l * lines.row] & mask);
      }
    }
  });
  return along ? MatrixView<Bfloat16Pair>{out, pairs, 1} : MatrixView<Bfloat16Pair>{out, 1, count};
}

/// Multiplications below which making pairs costs more than it saves.
constexpr int64_t kPairedWork = 32 * 32 * 32;

/// With the processor's products of bfloat16; false where it has none, or for a matrix and a
/// vector.
bool gemm_paired(int64_t m, int64_t n, int64_t k, MatrixView<bfloat16> a, MatrixView<bfloat16> b,
                 bfloat16* c, int64_t ldc, float alpha, float beta, const bfloat16* bias) {
  const GemmKernels<Bfloat16Pair>* kernels = bfloat16_kernels();
  if (!kernels || m == 1 || n == 1 || m * n * k < kPairedWork) return false;
  Tensor a_owner, b_owner;
  const MatrixView<Bfloat16Pair> a_pairs = paired(a, m, k, a_owner);
  const MatrixView<Bfloat16Pair> b_pairs = paired(b.transposed(), n, k, b_owner).transposed();
  const Tensor sums = empty(Shape{m, n}, DType::float32);
  gemm_tiled<Bfloat16Pair>(
      {m, n, (k + 1) / 2, a_pairs, b_pairs, sums.data<float>(), n, alpha, 0, nullptr}, *kernels);
  store_sums(m, n, sums.data<float>(), c, ldc, beta, bias);
  return true;
}

/// Four real products of the real and imaginary planes.
template <class T>
void gemm_complex(int64_t m, int64_t n, int64_t k, MatrixView<complex<T>> a,
                  MatrixView<complex<T>> b, complex<T>* c, int64_t ldc, complex<T> alpha,
                  complex<T> beta, const complex<T>* bias) {
  const auto real = [](complex<T> value) { return value.re; };
  const auto imaginary = [](complex<T> value) { return value.im; };
  Tensor owners[4];
  const MatrixView<T> a_re = widened<T>(m, k, a, owners[0], real);
  const MatrixView<T> a_im = widened<T>(m, k, a, owners[1], imaginary);
  const MatrixView<T> b_re = widened<T>(k, n, b, owners[2], real);
  const MatrixView<T> b_im = widened<T>(k, n, b, owners[3], imaginary);
  const Tensor re = empty(Shape{m, n}, dtype_of<T>), im = empty(Shape{m, n}, dtype_of<T>);
  gemm_native<T>(m, n, k, a_im, b_im, re.data<T>(), n, T(-1), T(0), nullptr);
  gemm_native<T>(m, n, k, a_re, b_re, re.data<T>(), n, T(1), T(1), nullptr);
  gemm_native<T>(m, n, k, a_re, b_im, im.data<T>(), n, T(1), T(0), nullptr);
  gemm_native<T>(m, n, k, a_im, b_re, im.data<T>(), n, T(1), T(1), nullptr);
  for (int64_t i = 0; i < m; ++i) {
    complex<T>* out = c + i * ldc;
    for (int64_t j = 0; j < n; ++j) {
      complex<T> value(re.data<T>()[i * n + j], im.data<T>()[i * n + j]);
      if (alpha != complex<T>(1)) value = alpha * value;
      if (beta != complex<T>(0)) value += beta * out[j];
      if (bias) value += bias[j];
      out[j] = value;
    }
  }
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc,
          GemmFactor<T> alpha, GemmFactor<T> beta, const T* bias) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
    gemm_native<T>(m, n, k, a, b, c, ldc, alpha, beta, bias);
  } else if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    gemm_complex(m, n, k, a, b, c, ldc, alpha, beta, bias);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    if constexpr (std::is_same_v<T, bfloat16>)
      if (gemm_paired(m, n, k, a, b, c, ldc, alpha, beta, bias)) return;
    if (try_gemv_widened(m, n, k, a, b, c, ldc, alpha, beta, bias)) return;
    gemm_widened<T, float>(m, n, k, a, b, c, ldc, alpha, beta, bias);
  } else {
    gemm_widened<T, int32_t>(m, n, k, a, b, c, ldc, alpha, beta, bias);
  }
}

#define FLAMBEAU_GEMM(T)                                                                      \
  template void gemm<T>(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t, \
                        GemmFactor<T>, GemmFactor<T>, const T*);
FLAMBEAU_GEMM(float)
FLAMBEAU_GEMM(double)
FLAMBEAU_GEMM(float16)
FLAMBEAU_GEMM(bfloat16)
FLAMBEAU_GEMM(uint8_t)
FLAMBEAU_GEMM(int8_t)
FLAMBEAU_GEMM(int16_t)
FLAMBEAU_GEMM(int32_t)
FLAMBEAU_GEMM(int64_t)
FLAMBEAU_GEMM(complex<float>)
FLAMBEAU_GEMM(complex<double>)
#undef FLAMBEAU_GEMM

}  // namespace flambeau::cpu
