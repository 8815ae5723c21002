#include "cpu/linalg/gemm_kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/linalg/scratch.h"
#include "cpu/linalg/vector.h"

// Matrix multiplication after Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008): c is computed in tiles that stay in registers, from panels of a and b that
// are packed so that the tile loop reads them in order.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 12;  // 12 x 2 accumulators, 2 of b, of 32 registers
#else
constexpr int kTileRows = 6;  // of 16 registers
#endif
constexpr int kTileVectors = 2;
template <class T>
constexpr int64_t kTileColumns = kTileVectors * kLanes<T>;
constexpr int64_t kDepth = 256;        // of a panel: a tile's panel of b (32 KiB) stays in L1
constexpr int64_t kPanelRows = 240;    // of a: 240 KiB in L2; a multiple of 12
constexpr int64_t kPanelBytes = 2 << 20;  // of b: in L3

/// How a finished tile reaches c.
template <class T>
struct Epilogue {
  T* c;
  int64_t ldc;
  T alpha, beta;
  const T* bias;
};

/// One tile: `rows` x `vectors` vectors, over the whole depth. The last vector may be partial.
template <class T, int rows, int vectors, bool partial>
void tile(int64_t depth, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
          const Epilogue<T>& out, int64_t last) {
  constexpr int lanes = kLanes<T>;
  const Mask<T> mask(partial ? last : lanes);
  Vector<T> sum[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[i][j] = Vector<T>{};
  for (int64_t p = 0; p < depth; ++p) {
    Vector<T> line[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      line[j] = partial && j == vectors - 1 ? mask.load(b + j * lanes) : load(b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vector<T> factor = splat(a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] += factor * line[j];
    }
    a += a_column;
    b += b_row;
  }
  const bool plain = out.alpha == T(1);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* c = out.c + i * out.ldc;
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const bool masked = partial && j == vectors - 1;
      Vector<T> value = plain ? sum[i][j] : sum[i][j] * splat(out.alpha);
      if (out.beta != T(0)) {
        const Vector<T> before = masked ? mask.load(c + j * lanes) : load(c + j * lanes);
        value += before * splat(out.beta);
      }
      if (out.bias)
        value += masked ? mask.load(out.bias + j * lanes) : load(out.bias + j * lanes);
      if (masked)
        mask.store(c + j * lanes, value);
      else
        store(c + j * lanes, value);
    }
  }
}

template <class T>
using Tile = void (*)(int64_t, const T*, int64_t, int64_t, const T*, int64_t, const Epilogue<T>&,
                      int64_t);

/// The tile function for 1..kTileRows rows, 1 or 2 vectors, whole or partial.
template <class T, int... index>
constexpr std::array<Tile<T>, sizeof...(index)> tiles(std::integer_sequence<int, index...>) {
  return {tile<T, index / 4 + 1, index / 2 % 2 + 1, index % 2 == 1>...};
}
template <class T>
constexpr auto kTiles = tiles<T>(std::make_integer_sequence<int, kTileRows * 4>());

template <class T>
inline void run_tile(int64_t rows, int64_t columns, int64_t depth, const T* a, int64_t a_row,
                     int64_t a_column, const T* b, int64_t b_row, const Epilogue<T>& out) {
  const int64_t vectors = (columns + kLanes<T> - 1) / kLanes<T>;
  const int64_t last = columns - (vectors - 1) * kLanes<T>;
  const int64_t index = (rows - 1) * 4 + (vectors - 1) * 2 + (last != kLanes<T>);
  kTiles<T>[static_cast<size_t>(index)](depth, a, a_row, a_column, b, b_row, out, last);
}

/// Copies `count` lines of `depth` elements so that packed[p * width + i] is line i's element p;
/// missing lines are not written. Lines have any strides.
template <class T>
void pack_lines(const T* source, int64_t line, int64_t step, int64_t count, int64_t depth, T* packed,
                int64_t width) {
  constexpr int lanes = kLanes<T>;
  if (line == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      const T* from = source + p * step;
      T* to = packed + p * width;
      int64_t i = 0;
      for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
      for (; i < count; ++i) to[i] = from[i];
    }
    return;
  }
  int64_t i = 0;
  if (step == 1) {
    for (; i < count; i += lanes) {
      const int64_t group = std::min<int64_t>(lanes, count - i);
      // A whole vector is stored only where the packed line has room for it.
      const Mask<T> room(std::min<int64_t>(lanes, width - i));
      for (int64_t p = 0; p < depth; p += lanes) {
        const int64_t columns = std::min<int64_t>(lanes, depth - p);
        const Mask<T> mask(columns);
        Vector<T> square[lanes];
        for (int64_t r = 0; r < lanes; ++r) square[r] = Vector<T>{};
        for (int64_t r = 0; r < group; ++r) square[r] = mask.load(source + (i + r) * line + p);
        transpose_square<T>(square);
        for (int64_t q = 0; q < columns; ++q) room.store(packed + (p + q) * width + i, square[q]);
      }
    }
    return;
  }
  for (; i < count; ++i)
    for (int64_t p = 0; p < depth; ++p) packed[p * width + i] = source[i * line + p * step];
}

/// All of b in tiles' panels: panel j holds columns [j * width, ...) of every depth step.
template <class T>
void pack_b(const MatrixView<T>& b, int64_t depth, int64_t columns, T* packed) {
  constexpr int64_t width = kTileColumns<T>;
  for (int64_t j = 0; j < columns; j += width, packed += width * depth)
    pack_lines(b.data + j * b.column, b.column, b.row, std::min(width, columns - j), depth, packed,
               width);
}

template <class T>
void pack_a(const MatrixView<T>& a, int64_t rows, int64_t depth, T* packed) {
  for (int64_t i = 0; i < rows; i += kTileRows, packed += kTileRows * depth)
    pack_lines(a.data + i * a.row, a.row, a.column, std::min<int64_t>(kTileRows, rows - i), depth,
               packed, kTileRows);
}

/// Reads a and b where they are: for matrices that fit the first cache levels.
template <class T>
void gemm_direct(const GemmCall<T>& call, const MatrixView<T>& b) {
  for (int64_t j = 0; j < call.n; j += kTileColumns<T>)
    for (int64_t i = 0; i < call.m; i += kTileRows)
      run_tile(std::min<int64_t>(kTileRows, call.m - i), std::min(kTileColumns<T>, call.n - j), call.k,
               call.a.data + i * call.a.row, call.a.row, call.a.column, b.data + j, b.row,
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
            const T* b = packed_b + j * depth;
            if (packs_a)
              run_tile<T>(tile_rows, tile_columns, depth, packed_a + i * depth, 1, kTileRows, b,
                          width, out);
            else
              run_tile<T>(tile_rows, tile_columns, depth, a.data + i * a.row, a.row, a.column, b,
                          width, out);
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
        sum[r][0] += load(row + r * call.lda + j) * x0;
        sum[r][1] += load(row + r * call.lda + j + lanes) * x1;
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
        sum[r] += load(row + j + r * lanes) * load(call.x + j + r * lanes);
    for (; j < whole; j += lanes) sum[0] += load(row + j) * load(call.x + j);
    if (rest) {
      const Mask<T> mask(rest);
      sum[1] += mask.load(row + j) * mask.load(call.x + j);
    }
    finish(i, total((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
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
    int64_t j = 0;
    for (; j + 8 <= call.columns; j += 8) {
      const T* line = call.a + i0 + j * call.lda;
      T x[8];
      for (int c = 0; c < 8; ++c) x[c] = call.x[j + c] * call.alpha;
#pragma omp simd
      for (int64_t i = 0; i < rows; ++i) {
        const T low = line[i] * x[0] + line[i + call.lda] * x[1] + line[i + 2 * call.lda] * x[2] +
                      line[i + 3 * call.lda] * x[3];
        const T high = line[i + 4 * call.lda] * x[4] + line[i + 5 * call.lda] * x[5] +
                       line[i + 6 * call.lda] * x[6] + line[i + 7 * call.lda] * x[7];
        y[i] += low + high;
      }
    }
    for (; j < call.columns; ++j) {
      const T* line = call.a + i0 + j * call.lda;
      const T x = call.x[j] * call.alpha;
#pragma omp simd
      for (int64_t i = 0; i < rows; ++i) y[i] += line[i] * x;
    }
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
