#pragma once

#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/linalg/gemm_kernel.h"

namespace flambeau::cpu {

/// How c is cut between threads.
struct Grid {
  int64_t rows = 1, columns = 1;
};

/// The tiles of a kernel; cutting c at multiples of them loses nothing.
struct TileSize {
  int64_t rows, columns;
};

/// Each thread packs its own part of a and b, so that squarer parts and whole tiles are cheaper.
inline Grid choose_grid(int64_t m, int64_t n, int64_t k, TileSize tile) {
  constexpr int64_t kThreadWork = 200'000;  // multiplications that pay for waking another thread
  const int64_t work = m * n * k;
  if (work < 2 * kThreadWork || in_parallel_region()) return {};
  const int64_t threads = std::min<int64_t>(num_threads(), work / kThreadWork);
  Grid best;
  double best_cost = 0;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const int64_t columns = threads / rows;
    const auto tiles = [](int64_t extent, int64_t step, int64_t parts) {
      return static_cast<double>(((extent + step - 1) / step + parts - 1) / parts * step);
    };
    // In cycles of a tile loop; only their ratios matter.
    const double part_m = tiles(m, tile.rows, rows), part_n = tiles(n, tile.columns, columns);
    const double cost = part_m * part_n / 32 + 0.15 * part_m + 0.25 * part_n;
    if (best_cost == 0 || cost < best_cost) {
      best_cost = cost;
      best = {rows, columns};
    }
  }
  return best;
}

/// Real multiplications in one of T.
template <class T>
inline constexpr int64_t kMultiplications = 1;
template <class T>
inline constexpr int64_t kMultiplications<complex<T>> = 4;

/// run(part) for the parts of a product, on several threads where that pays.
template <class T, class C, class Factor, class Run>
void over_parts(const GemmCall<T, C, Factor>& call, TileSize tile, const Run& run) {
  const Grid grid = choose_grid(call.m, call.n, call.k * kMultiplications<T>, tile);
  if (grid.rows * grid.columns == 1) return run(call);
  const auto part = [](int64_t extent, int64_t step, int64_t parts) {
    return ((extent + step - 1) / step + parts - 1) / parts * step;
  };
  const int64_t part_m = part(call.m, tile.rows, grid.rows);
  const int64_t part_n = part(call.n, tile.columns, grid.columns);
  parallel_for(0, grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t i = index / grid.columns * part_m, j = index % grid.columns * part_n;
      if (i >= call.m || j >= call.n) continue;
      GemmCall<T, C, Factor> mine = call;
      mine.m = std::min(part_m, call.m - i);
      mine.n = std::min(part_n, call.n - j);
      mine.a = call.a.at(i, 0);
      mine.b = call.b.at(0, j);
      mine.c = call.c + i * call.ldc + j;
      if (call.bias) mine.bias = call.bias + j;
      run(mine);
    }
  });
}

}  // namespace flambeau::cpu
