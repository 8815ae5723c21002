#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/linalg/gemm_strategies.h"

namespace flambeau::cpu {
namespace {

/// Multiplications that pay for waking another thread (about 2 us).
constexpr int64_t kThreadWork = 200'000;
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

}  // namespace

template <class T>
void gemm_tiled(const GemmCall<T>& call, const GemmKernels<T>& kernels) {
  const Grid grid = choose_grid(call.m, call.n, call.k, kernels);
  if (grid.rows * grid.columns == 1)
    kernels.gemm(call);
  else
    gemm_threaded(call, kernels, grid);
}

#define FLAMBEAU_GEMM_TILED(T) \
  template void gemm_tiled<T>(const GemmCall<T>&, const GemmKernels<T>&);
FLAMBEAU_GEMM_TILED(float)
FLAMBEAU_GEMM_TILED(double)
FLAMBEAU_GEMM_TILED(int32_t)
FLAMBEAU_GEMM_TILED(int64_t)
FLAMBEAU_GEMM_TILED(Bfloat16Pair)
#undef FLAMBEAU_GEMM_TILED

}  // namespace flambeau::cpu
